//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// brief is the flag for a short session timeout.
var brief = "--session-timeout=" + sessionTimeout.String()

// newRunOn prepares "zksync run" with the given rest of the command line. The
// session timeout is the command's default, so that no lock is lost when the machine
// stands still for a second or two. Tests of a session's end pass brief.
func newRunOn(t *testing.T, servers string, args ...string) *proctest.Process {
	t.Helper()
	p := proctest.Prepare(t, roleCommand, append([]string{"run"}, args...)...)
	p.Env = append(p.Env, envServers+"="+servers)
	return p
}

func zksyncRun(t *testing.T, args ...string) *proctest.Process {
	t.Helper()
	return newRunOn(t, zookeeper(t).addr, args...)
}

// holder runs a command that has the lock until it gets SIGTERM. It returns when
// the command has the lock.
func holder(t *testing.T, lock string, flags ...string) *proctest.Process {
	t.Helper()
	p := zksyncRun(t, append(flags, lock, "--", "sh", "-c", "trap 'exit 0' TERM; echo held; "+proctest.Loop)...).Start()
	p.Out.Await(t, "held")
	return p
}

func TestRunExitCodes(t *testing.T) {
	beside(t)
	lock := lockPath(t)
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"success", []string{lock, "--", "true"}, 0},
		{"own code", []string{lock, "--", "sh", "-c", "exit 42"}, 42},
		{"own code 255", []string{lock, "--", "sh", "-c", "exit 255"}, 255},
		{"own code 79", []string{lock, "--", "sh", "-c", "exit 79"}, 79},
		{"killed", []string{lock, "--", "sh", "-c", "kill -KILL $$"}, 137},
		{"interrupted", []string{lock, "--", "sh", "-c", "kill -INT $$"}, 130},
		{"free lock, -n", []string{"-n", lock, "--", "sh", "-c", "exit 7"}, 7},
		{"free lock, -w", []string{"-w", "10", lock, "--", "sh", "-c", "exit 7"}, 7},
		{"not found", []string{lock, "--", "no-such-command"}, exit.NotFound},
		{"not executable", []string{lock, "--", "/"}, exit.NotExecutable},
		{"path", []string{lock + "//x", "--", "true"}, exit.Usage},
		{"root", []string{"/", "--", "true"}, exit.Usage},
		{"server list", []string{"--servers", "host:port", lock, "--", "true"}, exit.Usage},
		{"session timeout", []string{"--session-timeout", "1ms", lock, "--", "true"}, exit.Usage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := zksyncRun(t, tt.args...).Start()
			p.WantCode(tt.want)
			switch said := p.Err.String(); {
			case tt.want == exit.Usage && !strings.HasSuffix(said, "Try 'zksync run --help'.\n"):
				t.Errorf("stderr %q", said)
			case tt.want < exit.Usage && said != "":
				t.Errorf("stderr %q, want nothing", said)
			}
		})
	}
	if n := queueLen(t, client(t), lock); n != 0 {
		t.Errorf("%d nodes left", n)
	}
}

func TestRunConflict(t *testing.T) {
	beside(t)
	lock := lockPath(t)
	h := holder(t, lock)
	for _, tt := range []struct {
		flags string
		want  int
		says  string
	}{
		{"-n", 1, "is held by sh on "},
		{"--nonblock", 1, "is held by sh on "},
		{"-n -E 42", 42, "is held by sh on "},
		{"-n -E 0", 0, "is held by sh on "},
		{"-n -q", 1, ""},
		{"-w 0", 1, "is held by sh on "},
		{"-w 0.3", 1, "not obtained within 300ms"},
		{"-w 3", 1, "not obtained within 3s: held by sh on "},
		{"-w 300ms --conflict-exit-code 9", 9, "not obtained within 300ms"},
		{"--timeout 300ms -q", 1, ""},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			start := time.Now()
			p := zksyncRun(t, append(strings.Fields(tt.flags), lock, "--", "echo", "ran")...).Start()
			p.WantCode(tt.want)
			if took := time.Since(start); strings.Contains(tt.flags, "300ms") && took < 300*time.Millisecond {
				t.Errorf("gave up after %v", took)
			}
			if p.Out.String() != "" {
				t.Error("the command ran")
			}
			if said := p.Err.String(); !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
				t.Errorf("stderr %q, want %q", said, tt.says)
			}
		})
	}
	// The command is looked for before the wait.
	zksyncRun(t, lock, "--", "no-such-command").Start().WantCode(exit.NotFound)
	zksyncRun(t, lock, "--", "/").Start().WantCode(exit.NotExecutable)
	if n := queueLen(t, client(t), lock); n != 1 {
		t.Errorf("%d nodes in the queue, want the holder's", n)
	}
	h.Signal(syscall.SIGTERM)
	h.WantCode(0)
}

func TestRunAnnouncesTheWait(t *testing.T) {
	lock := lockPath(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	first := holder(t, lock, "--identity", "nightly \x1b[31mjob")
	second := zksyncRun(t, lock, "--", "echo", "second").Start()
	said := second.Err.Await(t, "zksync: waiting for "+lock+", ")
	want := fmt.Sprintf(`^held by nightly .\[31mjob on %s \(pid %d\), in the queue for \d+s$`,
		regexp.QuoteMeta(host[:min(len(host), 40)]), first.Process.Pid)
	if !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("announced %q, want %s", said, want)
	}
	third := zksyncRun(t, lock, "--", "echo", "third").Start()
	said = third.Err.Await(t, "zksync: waiting for "+lock+", ")
	if want := fmt.Sprintf("place 2 in line, behind echo on %s (pid %d), ", host, second.Process.Pid); !strings.HasPrefix(said, want) {
		t.Errorf("announced %q, want %q...", said, want)
	}
	quiet := zksyncRun(t, "-q", lock, "--", "true").Start()
	c := client(t)
	proctest.Eventually(t, "four in the queue", func() bool { return queueLen(t, c, lock) == 4 })

	first.Signal(syscall.SIGTERM)
	for _, p := range []*proctest.Process{first, second, third, quiet} {
		p.WantCode(0)
	}
	if said := quiet.Err.String(); said != "" {
		t.Errorf("with -q: %q", said)
	}
	if n := queueLen(t, c, lock); n != 0 {
		t.Errorf("%d nodes left", n)
	}
}

func TestRunSignalDuringTheWait(t *testing.T) {
	lock := lockPath(t)
	c := client(t)
	h := holder(t, lock)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			p := zksyncRun(t, lock, "--", "echo", "ran").Start()
			p.Err.Await(t, "waiting for")
			p.Signal(syscall.SIGUSR1) // for the command, which is not there
			p.Signal(syscall.SIGWINCH)
			p.Signal(sig)
			p.WantCode(exit.Signal + int(sig))
			if p.Out.String() != "" {
				t.Error("the command ran")
			}
			if n := queueLen(t, c, lock); n != 1 {
				t.Errorf("%d nodes in the queue, want the holder's", n)
			}
		})
	}
	h.Signal(syscall.SIGTERM)
	h.WantCode(0)
}

func TestRunSignalWhileConnecting(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p := newRunOn(t, silent.Addr().String(), "/lock", "--", "true").Start()
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p.Signal(syscall.SIGTERM)
	p.WantCode(143)
}

func TestRunSecondSignalDoesNotWait(t *testing.T) {
	p, err := ensemble.NewProxy(zookeeper(t).addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lock := lockPath(t)
	h := holder(t, lock)
	w := newRunOn(t, p.Addr(), lock, "--", "true").Start()
	w.Err.Await(t, "waiting for")
	p.Blackhole() // its node can't be taken back
	w.Signal(syscall.SIGINT)
	start := time.Now()
	proctest.Eventually(t, "the end", func() bool {
		w.Process.Signal(syscall.SIGINT)
		select {
		case <-w.Done:
			return true
		default:
			return false
		}
	})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
	w.WantCode(130)
	p.DisconnectAll()
	h.Signal(syscall.SIGTERM)
	h.WantCode(0)
}

func TestRunSignalsTheCommand(t *testing.T) {
	lock := lockPath(t)
	p := zksyncRun(t, lock, "--", "sh", "-c", "trap 'echo usr1' USR1; trap 'echo int; exit 5' INT; echo ready; "+proctest.Loop).Start()
	p.Out.Await(t, "ready")
	p.Signal(syscall.SIGUSR1)
	p.Out.Await(t, "usr1")
	p.Signal(syscall.SIGINT)
	p.WantCode(5)
	if n := queueLen(t, client(t), lock); n != 0 {
		t.Error("the lock was not given back")
	}
	p = zksyncRun(t, lock, "--", "sh", "-c", "echo ready; exec sleep 60").Start()
	p.Out.Await(t, "ready")
	p.Signal(syscall.SIGTERM)
	p.WantCode(143)
}

func TestRunEnvironment(t *testing.T) {
	lock := lockPath(t)
	var fences []int64
	for range 2 {
		p := zksyncRun(t, lock, "--", "sh", "-c", `env | grep ^ZKSYNC_; echo end`)
		p.Env = append(p.Env, "ZKSYNC_FENCE=999999999999", "ZKSYNC_LOCK=/other", "ZKSYNC_NODE=/other/n", "ZKSYNC_SESSION=0x1")
		p.Start().WantCode(0)
		got := make(map[string]string)
		for line := range strings.Lines(p.Out.String()) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if _, twice := got[key]; twice {
				t.Errorf("%s comes twice", key)
			}
			got[key] = value
		}
		fence, err := strconv.ParseInt(got["ZKSYNC_FENCE"], 10, 64)
		if err != nil {
			t.Error(err)
		}
		fences = append(fences, fence)
		if got["ZKSYNC_LOCK"] != lock || !strings.HasPrefix(got["ZKSYNC_NODE"], lock+"/_c_") ||
			!regexp.MustCompile("^0x[0-9a-f]+$").MatchString(got["ZKSYNC_SESSION"]) || got["ZKSYNC_SESSION"] == "0x1" {
			t.Errorf("environment %v", got)
		}
	}
	if fences[1] <= fences[0] {
		t.Errorf("fences %v do not grow", fences)
	}
}

// TestRunCounter lets twenty processes count in a file that only the lock
// protects.
func TestRunCounter(t *testing.T) {
	beside(t)
	lock := lockPath(t)
	file := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const n = 20
	var all []*proctest.Process
	for range n {
		p := zksyncRun(t, "-q", lock, "--", "sh", "-c", `read n <"$1"; sleep 0.02; echo $((n+1)) >"$1"`, "sh", file)
		all = append(all, p.Start())
	}
	for _, p := range all {
		p.WantCode(0)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != strconv.Itoa(n)+"\n" {
		t.Errorf("counted %q, %v; want %d", got, err, n)
	}
}

func TestRunUnavailable(t *testing.T) {
	beside(t)
	for _, flags := range []string{"--connect-timeout 300ms", "-w 0.3", "-n --connect-timeout 0.3", "-q --connect-timeout 0.3"} {
		p := newRunOn(t, "127.0.0.1:1", append(strings.Fields(flags), "/lock", "--", "true")...).Start()
		p.WantCode(exit.Unavailable)
		p.Err.Await(t, "zksync: dial: ")
		if strings.Contains(p.Err.String(), "zksync: zksync:") {
			t.Error("our name comes twice")
		}
	}
}

func TestRunChroot(t *testing.T) {
	lock := lockPath(t)
	p := newRunOn(t, zookeeper(t).addr+"/below", lock, "--", "sh", "-c", "echo $ZKSYNC_LOCK $ZKSYNC_NODE").Start()
	p.WantCode(0)
	if got, want := p.Out.String(), lock+" /below"+lock+"/_c_"; !strings.HasPrefix(got, want) {
		t.Errorf("printed %q, want %q...", got, want)
	}
}

func TestRunAuth(t *testing.T) {
	beside(t)
	const secret = "correct-horse"
	lock := lockPath(t)
	c := client(t)
	for _, path := range []string{"/test", lock} {
		acl := zk.DigestACL(zk.PermAll, "alice", secret)
		if path == "/test" {
			acl = zk.WorldACL(zk.PermAll)
		}
		if _, err := c.Create(path, nil, 0, acl); err != nil && err != zk.ErrNodeExists {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("digest:alice:"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, env, flags string
		want             int
		says             string
	}{
		{"nobody", "", "", exit.NoPermission, " (without credentials: see --auth-file)\n"},
		{"somebody else", "digest:bob:" + secret, "", exit.NoPermission, " (for digest:bob; ZooKeeper takes a wrong password for another user)\n"},
		{"environment", "digest:alice:" + secret, "", 0, ""},
		{"file", "", "--auth-file " + file, 0, ""},
		{"file first", "digest:bob:" + secret, "--auth-file " + file, 0, ""},
		{"no scheme", secret, "", exit.Usage, "want scheme:credential"},
		{"unknown scheme", "nonsense:" + secret, "--connect-timeout 5s", exit.NoPermission, "authentication failed\n"},
		{"no file", "", "--auth-file " + file + "x", exit.Usage, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := zksyncRun(t, append(strings.Fields(tt.flags), lock, "--", "true")...)
			p.Env = append(p.Env, envAuth+"="+tt.env)
			p.Start().WantCode(tt.want)
			said := p.Out.String() + p.Err.String()
			if strings.Contains(said, secret) {
				t.Errorf("the secret was printed: %q", said)
			}
			if !strings.Contains(said, tt.says) {
				t.Errorf("output %q, want %q", said, tt.says)
			}
		})
	}
}
