//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/pflag"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/control"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// servePage is the page about serve.
const servePage = "../../docs/serve.md"

// pageBlock writes the only block of a language on the page to a file, and returns its
// path.
func pageBlock(t *testing.T, lang, file string) string {
	t.Helper()
	text, err := os.ReadFile(servePage)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```"+lang+"\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("the page has %d blocks in %s, want 1", len(blocks), lang)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, blocks[0][1], 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runPage runs a program that finds this command as zksync, and returns what it prints. What
// it leaves running is killed with its process group.
func runPage(t *testing.T, command string, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "zksync")); err != nil { // see TestMain
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*proctest.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "dir="+t.TempDir(), "no_proxy=127.0.0.1", "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out := filepath.Join(t.TempDir(), "out") // not a pipe, which a process that is left would keep open
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	failed := cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be nobody
	text, err := os.ReadFile(out)
	if failed != nil || err != nil {
		t.Fatalf("%v, %v\n%s", failed, err, text)
	}
	return string(text)
}

func TestServePageShell(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, program, program)
		}
	}
	out := runPage(t, "bash", "-euo", "pipefail", pageBlock(t, "bash", "example.sh"))
	for _, want := range []string{
		`{"nodes":[{"path":"/locks/nightly","data":"","text":"","version":0,"children":1},{"path":"/locks/nightly/_c_`,
		"\nzksync run ends with 79: the lock was lost\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestServePagePython(t *testing.T) {
	t.Parallel()
	out := runPage(t, kazoo(t), pageBlock(t, "python", "registration_test.py"))
	if !strings.Contains(out, "Ran 3 tests") {
		t.Errorf("%s", out)
	}
}

// The helper of the page says why a request was not done.
func TestServePagePythonSaysWhy(t *testing.T) {
	t.Parallel()
	python, page := kazoo(t), pageBlock(t, "python", "page.py")
	script := filepath.Join(filepath.Dir(page), "script.py")
	if err := os.WriteFile(script, []byte(`
from page import ZooKeeper
zk = ZooKeeper()
for ask, request, params in [(zk.post, "drop", {"what": "reply", "op": "creat"}), (zk.get, "wait", {"path": "/x", "timeout": "0"})]:
    try:
        ask(request, **params)
    except AssertionError as why:
        print(why)
zk.close()
`), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "/drop: op=\"creat\": no such request; did you mean create?\n" +
		"/wait: 0 of 1 such requests have come within 0s; there was no request at all\n"
	if out := runPage(t, python, script); !strings.HasSuffix(out, want) {
		t.Errorf("%s", out)
	}
}

func TestServePageJava(t *testing.T) {
	long(t)
	beside(t)
	java, path := curator(t)
	out := runPage(t, java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-XX:-UsePerfData",
		"-cp", path, pageBlock(t, "java", "LeaderTest.java"))
	if !strings.HasSuffix(out, "\nok\n") {
		t.Errorf("%s", out)
	}
}

// The page has each flag about users, and its variable.
func TestServePageHasEachUserFlag(t *testing.T) {
	text, err := os.ReadFile(servePage)
	if err != nil {
		t.Fatal(err)
	}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(users).addFlags(f)
	words := []string{envSASLUsers, envSuper}
	f.VisitAll(func(f *pflag.Flag) { words = append(words, "--"+f.Name) })
	for _, word := range words {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("`%s` is not on the page", word)
		}
	}
}

// The page has each request and each of its parameters.
func TestServePageHasEachRequest(t *testing.T) {
	text, err := os.ReadFile(servePage)
	if err != nil {
		t.Fatal(err)
	}
	status := reflect.TypeFor[control.Status]()
	for i := range status.NumField() {
		switch name := strings.Split(status.Field(i).Tag.Get("json"), ",")[0]; name {
		case "members", "sessions", "zxid": // in words
		default:
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("`%s` is not on the page", name)
			}
		}
	}
	for path, takes := range control.Paths() {
		for _, word := range append(takes, path) {
			if !strings.Contains(string(text), "`"+word+"`") {
				t.Errorf("`%s` is not on the page", word)
			}
		}
	}
}
