//go:build unix

package job_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
)

func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(first, "both", 0o644)
	write(first, "plain", 0o644)
	both := write(second, "both", 0o755)
	here := write(second, "here", 0o755)
	if err := os.Mkdir(filepath.Join(first, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", first+string(filepath.ListSeparator)+second)
	t.Chdir(second)

	for _, tt := range []struct {
		name, path string
		code       int
	}{
		{"here", here, 0},
		{"both", both, 0}, // the first one can't be run
		{"./here", "./here", 0},
		{here, here, 0},
		{"plain", "", exit.NotExecutable},
		{filepath.Join(first, "plain"), "", exit.NotExecutable},
		{filepath.Join(first, "folder"), "", exit.NotExecutable},
		{"folder", "", exit.NotFound},
		{"nowhere", "", exit.NotFound},
		{"./nowhere", "", exit.NotFound},
		{filepath.Join(here, "below"), "", exit.NotExecutable}, // as the shell: not a directory
		{"", "", exit.NotFound},
	} {
		path, err := job.Find(tt.name)
		code := 0
		var e *exit.Error
		if errors.As(err, &e) {
			code = e.Code
		}
		if path != tt.path || code != tt.code {
			t.Errorf("job.Find(%q) = %q, %v (code %d); want %q, code %d", tt.name, path, err, code, tt.path, tt.code)
		}
	}

	t.Setenv("PATH", "")
	if path, err := job.Find("here"); err == nil && path != "./here" && path != "here" {
		t.Errorf("with an empty PATH: %q, %v", path, err)
	}
	t.Setenv("PATH", ".")
	if path, err := job.Find("here"); err != nil || filepath.Base(path) != "here" {
		t.Errorf("with . in PATH: %q, %v", path, err)
	}
}
