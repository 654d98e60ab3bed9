package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

func TestPathsAreCheckedFirst(t *testing.T) {
	t.Setenv(envServers, "192.0.2.1:2181") // nobody is there
	for _, command := range []string{"show", "revoke", "break", "ls", "deadlocks", "run"} {
		for path, says := range map[string]string{
			"nightly": "must start with a slash, as in " + map[bool]string{true: "/nightly\n", false: "/locks/nightly\n"}[command == "ls" || command == "deadlocks"], "app/nightly": "must start with a slash, as in /app/nightly\n", "/a//b": "empty element", "/a/": "must not end with a slash",
			"/a/../b": `relative element ".."`, "/zookeeper/x": "belongs to ZooKeeper itself", "/a\x01b": "ZooKeeper refuses the character U+0001",
			"/a\xff": "not valid UTF-8", "": "is empty", "/" + strings.Repeat("x", 2048): "2049 bytes are more than 2048",
			strings.Repeat("x\n", 200): `"x\nx\n`,
		} {
			args := []string{command, path}
			if command == "run" {
				args = append(args, "--", "true")
			}
			code, stdout, stderr := commandLine(args...)
			if code != exit.Usage || stdout != "" || !strings.Contains(stderr, says) || len(stderr) > 500 || strings.Count(stderr, "\n") != 2 {
				t.Errorf("%s %q: exit code %d, stdout %q, stderr %q, want %q", command, path, code, stdout, stderr, says)
			}
		}
	}
	if code, _, stderr := commandLine("show", "/"); code != exit.Usage || !strings.Contains(stderr, "the root can't be a lock") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// A list of servers that is written as for another program gets the text that is wanted.
func TestServersAreChecked(t *testing.T) {
	for list, says := range map[string]string{
		"http://127.0.0.1:2181":      `--servers: "http://127.0.0.1:2181" is a URL, and a server is only host:port, as in 127.0.0.1:2181`,
		"zookeeper://zk1:2181/app":   `is a URL, and a server is only host:port, as in zk1:2181/app`,
		"zk1:2181 zk2:2181":          `--servers: "zk1:2181 zk2:2181": there is a comma between two servers, as in zk1:2181,zk2:2181`,
		"zk1:2181;zk2:2181,zk3:2181": "as in zk1:2181,zk2:2181,zk3:2181",
		"zk1:2181\nzk2:2181":         "as in zk1:2181,zk2:2181",
		"zk1:2181,zk2:99999":         `server "zk2:99999": the port is a number from 1 to 65535, as in zk2:2181`,
		"zk1:":                       `server "zk1:": the port is a number from 1 to 65535, as in zk1:2181`,
		":2181":                      `server ":2181": want host:port, as in zk1:2181`,
		"[::1":                       `server "[::1": want host:port, as in zk1:2181`,
		"a:b:c":                      `server "a:b:c": want host:port, as in zk1:2181`,
		"zk1:2181,":                  "empty server",
	} {
		for _, command := range []string{"ls", "run /lock", "elect /lock true", "doctor", "bench", "watch"} {
			args := append(strings.Fields(command), "--servers", list)
			if words := strings.Fields(command); len(words) > 1 {
				args = append([]string{words[0], "--servers", list}, words[1:]...)
			}
			code, stdout, stderr := commandLine(args...)
			if code != exit.Usage || stdout != "" || !strings.Contains(stderr, says+"\n") && !strings.Contains(stderr, says+" in ") || strings.Count(stderr, "\n") != 2 {
				t.Errorf("%s --servers %q: exit code %d, stdout %q, stderr %q, want %q", command, list, code, stdout, stderr, says)
			}
		}
	}
}

// A chroot behind each server would be one odd chroot.
func TestChrootIsChecked(t *testing.T) {
	for list, says := range map[string]string{
		"zk1:2181/app,zk2:2181/app": `ZKSYNC_SERVERS: a comma in the chroot "/app,zk2:2181/app": the chroot comes once, behind the last server, as in zk1:2181,.../app`,
		"zk1:2181/app/":             `chroot "/app/": it must not end with a slash`,
		"zk1:2181/app//x":           "empty element",
	} {
		t.Setenv(envServers, list)
		for _, args := range []string{"ls", "show /x", "run /x -- true", "bench"} {
			code, _, stderr := commandLine(strings.Fields(args)...)
			if code != exit.Usage || !strings.Contains(stderr, says) {
				t.Errorf("%s, %s: exit code %d, stderr %q", list, args, code, stderr)
			}
		}
	}
}

func TestSuggestions(t *testing.T) {
	for args, says := range map[string]string{
		"lss": "Did you mean this?\n\tls\n", "brake /x": "Did you mean this?\n\tbreak\n", "deadlock": "Did you mean this?\n\tdeadlocks\n",
		"ls --wtach": "unknown flag: --wtach; did you mean --watch?", "show --server x /l": "did you mean --servers?",
		"break --Yes /l": "did you mean --yes?", "ls --connect /l": "did you mean --connect-timeout?",
		"run --gracee 5 /l true": "did you mean --grace?", "run /l --gracee 5 true": "did you mean --grace?", "run /l --gracee 5 -- true": "did you mean --grace?",
	} {
		code, _, stderr := commandLine(strings.Fields(args)...)
		if code != exit.Usage || !strings.Contains(stderr, says) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", args, code, stderr, says)
		}
	}
	for _, args := range []string{"ls --nonsense", "ls -x"} {
		if code, _, stderr := commandLine(strings.Fields(args)...); code != exit.Usage || strings.Contains(stderr, "mean") {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	code, stdout, _ := commandLine("version")
	_, flag, _ := commandLine("--version")
	if code != 0 || stdout != flag || !strings.HasPrefix(stdout, "zksync ") {
		t.Errorf("exit code %d, %q, and with the flag %q", code, stdout, flag)
	}
	code, _, stderr := commandLine("version", "x")
	if code != exit.Usage || !strings.Contains(stderr, "want no arguments, have 1") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// There is a page for each command that the help shows.
func TestMan(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	dir := filepath.Join(t.TempDir(), "man1")
	if code, _, stderr := commandLine("man", dir); code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		switch {
		case err != nil:
			t.Error(err)
		case !strings.Contains(string(page), "Jan 1970"):
			t.Errorf("the page of %s has another date", c.CommandPath())
		case c.HasParent() && !strings.Contains(string(page), "SYNOPSIS"):
			t.Errorf("the page of %s: %s", c.CommandPath(), page)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(newRoot())
	file := filepath.Join(dir, "zksync.1")
	if code, _, stderr := commandLine("man", file); code != exit.OS || !strings.Contains(stderr, "zksync.1") {
		t.Errorf("into a file: exit code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := commandLine("man"); code != exit.Usage || !strings.Contains(stderr, "want one DIR") {
		t.Errorf("without DIR: exit code %d, stderr %q", code, stderr)
	}
}

func TestCompletion(t *testing.T) {
	if _, stdout, _ := commandLine("--help"); !strings.Contains(stdout, "\n  completion ") {
		t.Errorf("the help does not show the command completion:\n%s", stdout)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, stderr := commandLine("completion", shell); code != 0 || !strings.Contains(stdout, "__complete") {
			t.Errorf("%s: exit code %d, %d bytes, stderr %q", shell, code, len(stdout), stderr)
		}
	}
	for args, want := range map[string]string{"sho": "show\t", "ls -o ": "table\njson\n", "ls --wa": "--watch\t", "show ": ":4\n"} {
		code, stdout, _ := commandLine(append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%q: exit code %d, %q", args, code, stdout)
		}
	}
}

// Each command says what its exit codes mean, in 80 columns.
func TestOperatorsHelp(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if !c.HasFlags() || c.Flags().Lookup("timeout") == nil || c.Flags().Lookup("output") == nil {
			continue
		}
		code, stdout, _ := commandLine(c.Name(), "--help")
		for _, want := range []string{"Exit codes:\n  0 ", "\n  64 ", "\n  69 ", "\n  77 ", "\n  128+N ", "-o json", "--servers", "--auth-file", "--tls-ca", "Examples:"} {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("%s: exit code %d, and the help does not say %q", c.Name(), code, want)
			}
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s: wide line in the help: %q", c.Name(), line)
			}
		}
	}
}
