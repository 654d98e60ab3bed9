package repo_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// commandModule is the path of the command's module, which is nested in the root's.
const commandModule = module + "/cmd/zksync"

// version is a module, and a version of it that is required or replaced.
type version struct{ Path, Version string }

type replacement struct{ Old, New version }

// modules is a go.mod as go mod edit -json shows it.
type modules struct {
	Module  struct{ Path string }
	Require []version
	Replace []replacement
}

func modFile(t *testing.T, dir string) (m modules) {
	t.Helper()
	goJSON(t, &m, "mod", "edit", "-json", filepath.Join(dir, "go.mod"))
	return m
}

// rootVersion is the version of the root's module that the command requires.
func rootVersion(t *testing.T) string {
	t.Helper()
	for _, m := range modFile(t, "cmd/zksync").Require {
		if m.Path == module {
			return m.Version
		}
	}
	t.Fatal("cmd/zksync/go.mod does not require the root")
	return ""
}

func goJSON(t *testing.T, to any, args ...string) {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err == nil {
		err = json.Unmarshal(out, to)
	}
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
}

// A program that imports the library gets at least the versions that the root's
// go.mod names, also of what only a test uses.
func TestTheRootRequiresWhatTheLibraryNeeds(t *testing.T) {
	api := []string{"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/metric"}
	for _, m := range modFile(t, ".").Require {
		if strings.Contains(m.Path, "spf13/") || strings.HasPrefix(m.Path, "go.opentelemetry.io/") && !slices.Contains(api, m.Path) {
			t.Errorf("go.mod requires %s", m.Path)
		}
	}
}

// The command requires a version of the root that may not exist yet. In the
// workspace it is the working tree; go install refuses a go.mod that says so.
func TestTheWorkspaceHasTheRootThatTheCommandRequires(t *testing.T) {
	var work struct {
		Use     []struct{ DiskPath string }
		Replace []replacement
	}
	goJSON(t, &work, "work", "edit", "-json", "go.work")
	if len(work.Use) != 2 || work.Use[0].DiskPath != "." || work.Use[1].DiskPath != "./cmd/zksync" {
		t.Errorf("go.work uses %v", work.Use)
	}
	if mod := modFile(t, "cmd/zksync"); mod.Module.Path != commandModule || len(mod.Replace) > 0 {
		t.Errorf("cmd/zksync/go.mod: module %v, replace %v", mod.Module, mod.Replace)
	}
	want := replacement{Old: version{module, rootVersion(t)}, New: version{Path: "./"}}
	if len(work.Replace) != 1 || work.Replace[0] != want {
		t.Errorf("go.work replaces %v, want %v", work.Replace, want)
	}
}
