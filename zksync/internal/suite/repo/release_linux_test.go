package repo_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The script makes archives whose binaries need nothing and know their version, and makes
// the same bytes again.
func TestReleaseScript(t *testing.T) {
	suite.Long(t)
	version, dir := rootVersion(t), t.TempDir()
	platforms := "linux/amd64 windows/amd64"
	runScript(t, fmt.Sprintf("bash .github/release '%[1]s/one' %[2]s %[3]s\nbash .github/release '%[1]s/two' %[2]s %[3]s\n", dir, version, platforms))
	sums := make([]string, 2)
	for i, name := range []string{"one", "two"} {
		text, err := os.ReadFile(filepath.Join(dir, name, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	base := "zksync_" + strings.TrimPrefix(version, "v")
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 || !strings.Contains(sums[0], "  "+base+"_linux_amd64.tar.gz\n") || !strings.Contains(sums[0], "  "+base+"_windows_amd64.zip\n") {
		t.Errorf("checksums\n%s\nand\n%s", sums[0], sums[1])
	}
	output := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = filepath.Join(dir, "one")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	output("sha256sum", "--check", "--quiet", "SHA256SUMS")
	if list := output("tar", "-tf", base+"_linux_amd64.tar.gz"); list != fmt.Sprintf("%[1]s/\n%[1]s/CHANGELOG.md\n%[1]s/LICENSE\n%[1]s/README.md\n%[1]s/zksync\n", base+"_linux_amd64") {
		t.Errorf("the archive has\n%s", list)
	}
	binary := filepath.Join(dir, "one", "linux_amd64", "zksync")
	if said := output(binary, "--version"); !strings.HasPrefix(said, "zksync "+version+" (go") {
		t.Errorf("the binary says %q", said)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("the binary needs %q, %v", libs, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "one", "windows_amd64", "zksync.exe")); err != nil {
		t.Error(err)
	}
}

// The release builds what the Dockerfile takes.
func TestReleaseFitsTheDockerfile(t *testing.T) {
	dockerfile, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := os.ReadFile(".github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(".github/release")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ file, text string }{
		{string(dockerfile), "FROM base AS released\nARG TARGETARCH\nCOPY --from=binaries linux_${TARGETARCH}/zksync /zksync\n"},
		{string(workflow), "--platform linux/amd64,linux/arm64 --target released --build-context binaries=dist "},
		{string(script), "linux/amd64 linux/arm64 "},
	} {
		if !strings.Contains(want.file, want.text) {
			t.Errorf("nowhere is %q", want.text)
		}
	}
}
