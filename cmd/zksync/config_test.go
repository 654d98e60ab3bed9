package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// commandLine runs a command line that needs no server, in this process.
func commandLine(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = execute(args, &out, &err)
	return code, out.String(), err.String()
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(envServers, "host:2181")
	t.Setenv(envAuth, "")
	for _, tt := range []struct {
		args, says string
	}{
		{"nonsense", `unknown command "nonsense"`},
		{"run", "no LOCK"},
		{"run -q", "no LOCK"},
		{"run /lock other -- true", `the words before -- are locks, and "other" is not a path`},
		{"run /lock git log -- file", "zksync run /lock -- git ..."},
		{"run lock", `LOCK "lock" is not a path`},
		{"run lock true", `LOCK "lock" is not a path`},
		{"run /lock /other lock -- true", `"lock" is not a path`},
		{"run /lock --nonsense true", "unknown flag: --nonsense"},
		{"run /lock --nonsense -- true", "unknown flag: --nonsense"},
		{"run --permits 2 /lock true", "--permits needs --limit"},
		{"run --permits 0 /lock true", "--permits needs --limit"},
		{"run --limit 0 /lock true", "--limit 0: want 1 at least"},
		{"run --limit -1 --permits 1 /lock true", "--limit -1: want 1 at least"},
		{"run --limit 3 --permits 0 /lock true", "--permits 0: want 1 to 3"},
		{"run --limit 3 --permits 4 /lock true", "--permits 4: want 1 to 3"},
		{"run --limit x /lock true", "invalid argument"},
		{"run -s --limit 3 /lock true", "-s is for locks"},
		{"run --limit 3 /lock /other -- true", "one semaphore"},
		{"run --grace 3 /lock", "--grace is for a COMMAND"},
		{"run -- true", "no LOCK before --"},
		{"run /lock --", "no COMMAND after --"},
		{"run lock -- true", `LOCK "lock" is not a path: it must start with a slash`},
		{"run --nonsense /lock -- true", "unknown flag: --nonsense"},
		{"run -n -w 5 /lock -- true", "-n does not wait"},
		{"run -w /lock -- true", "plain seconds"},
		{"run -w -1 /lock -- true", "must not be negative"},
		{"run -w -1s /lock -- true", "must not be negative"},
		{"run -w NaN /lock -- true", "plain seconds"},
		{"run -w Inf /lock -- true", "out of range"},
		{"run -w 1e300 /lock -- true", "out of range"},
		{"run --grace soon /lock -- true", "plain seconds"},
		{"run -E 256 /lock -- true", "from 0 to 255"},
		{"run -E -1 /lock -- true", "from 0 to 255"},
		{"run --lost-exit-code 0 /lock -- true", "from 1 to 255"},
		{"run --servers a,,b /lock -- true", "empty server"},
		{"run --tls-cert x /lock -- true", "--tls-cert and --tls-key go together"},
		{"run --tls-key x /lock -- true", "--tls-cert and --tls-key go together"},
		{"run --tls-cert " + empty + " --tls-key " + empty + " /lock -- true", "--tls-cert, --tls-key: "},
		{"run --tls-ca " + empty + " /lock -- true", "no certificate"},
		{"run --tls-ca " + empty + "x /lock -- true", "no such file"},
		{"run --auth-file " + empty + "x /lock -- true", "no such file"},
		{"run --auth-file " + empty + " /lock -- true", "want scheme:credential"},
	} {
		code, stdout, stderr := commandLine(strings.Fields(tt.args)...)
		if code != exit.Usage || stdout != "" || !strings.Contains(stderr, tt.says) || !strings.Contains(stderr, "--help") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d and %q", tt.args, code, stdout, stderr, exit.Usage, tt.says)
		}
	}
	t.Setenv(envServers, "")
	if code, _, stderr := commandLine("run", "/lock", "--", "true"); code != exit.Usage || !strings.Contains(stderr, "--servers") || !strings.Contains(stderr, envServers) {
		t.Errorf("without servers: exit code %d, stderr %q", code, stderr)
	}
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		args  string
		wants []string
	}{
		{"", []string{"zksync [command]", "run --help"}},
		{"--help", []string{"zksync [command]", "run --help"}},
		{"--version", []string{"zksync ", "go1."}},
		{"run --help", []string{
			"zksync run [flags] LOCK [COMMAND [ARG...]]", "zksync run [flags] LOCK... -- COMMAND [ARG...]", "Exit codes:", "128+N", "ZKSYNC_FENCE", "(default 79)", "(default 10s)", envServers, envAuth,
		}},
	} {
		code, stdout, stderr := commandLine(strings.Fields(tt.args)...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit code %d, stderr %q", tt.args, code, stderr)
		}
		for _, want := range tt.wants {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q does not say %q:\n%s", tt.args, want, stdout)
			}
		}
	}
	// A terminal has 80 columns. The flags' lines are cobra's.
	for l := range strings.Lines(runLong) {
		if len(strings.TrimRight(l, "\n")) > 80 {
			t.Errorf("wide line in the help: %q", l)
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond, "1e1": 10 * time.Second,
	} {
		var s seconds
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%q is %v, %v; want %v", text, time.Duration(s), err, want)
		}
	}
}

func TestServerList(t *testing.T) {
	for _, tt := range []struct {
		flag, env string
		servers   []string
		chroot    string
	}{
		{"a:1", "", []string{"a:1"}, ""},
		{"", "a:1, b", []string{"a:1", "b"}, ""},
		{"flag", "env", []string{"flag"}, ""},
		{"a:1,[::1]:2/apps/one", "", []string{"a:1", "[::1]:2"}, "/apps/one"},
		{"a:1/", "", []string{"a:1"}, ""},
	} {
		t.Setenv(envServers, tt.env)
		c := config{servers: tt.flag}
		servers, chroot, err := c.serverList()
		if err != nil || !slices.Equal(servers, tt.servers) || chroot != tt.chroot {
			t.Errorf("%q, %q: %q, %q, %v; want %q, %q", tt.flag, tt.env, servers, chroot, err, tt.servers, tt.chroot)
		}
	}
}
