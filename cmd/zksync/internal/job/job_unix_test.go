//go:build unix

package job_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

func TestJobExitCodes(t *testing.T) {
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name string
		argv []string
		want int
		out  string
	}{
		{"success", []string{"/bin/sh", "-c", "exit 0"}, 0, ""},
		{"own code", []string{"/bin/sh", "-c", "exit 42"}, 42, ""},
		{"killed", []string{"/bin/sh", "-c", "kill -KILL $$"}, 137, ""},
		{"terminated", []string{"/bin/sh", "-c", "kill -TERM $$"}, 143, ""},
		{"no #! line", []string{script("echo with $1; exit 9\n"), "word"}, 9, "with word\n"},
		{"no interpreter", []string{script("#!/no/such/interpreter\n")}, exit.NotFound, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := newCommandJob(t, roleJob, "1s", tt.argv...)
			p.Start().WantCode(tt.want)
			if got := p.Out.String(); got != tt.out {
				t.Errorf("printed %q, want %q", got, tt.out)
			}
		})
	}
}

func TestJobPassesSignalsToTheGroup(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM,
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "ALRM": syscall.SIGALRM, "WINCH": syscall.SIGWINCH,
	} {
		t.Run(name, func(t *testing.T) {
			// The inner shell has no job control: a signal finds it only
			// through the group.
			p, _ := newJob(t, "1s", "trap 'echo outer' "+name+"; sh -c \"$INNER\"; exit 7")
			p.Env = append(p.Env, "INNER=trap 'echo inner; exit' "+name+"; echo ready; "+proctest.Loop)
			p.Start()
			p.Out.Await(t, "ready")
			p.Signal(sig)
			p.WantCode(7)
			p.Out.Await(t, "inner")
			p.Out.Await(t, "outer")
		})
	}
}

func TestJobPassesSecondSignal(t *testing.T) {
	p, _ := newJob(t, "1s", "trap 'trap \"echo second; exit 5\" INT; echo first' INT; echo ready; "+proctest.Loop)
	p.Start()
	p.Out.Await(t, "ready")
	p.Signal(syscall.SIGINT)
	p.Out.Await(t, "first")
	p.Signal(syscall.SIGINT)
	p.WantCode(5)
	p.Out.Await(t, "second")
}

// A signal that was ignored at the start stays ignored, for the command as well: as
// under nohup, or in the background of a script.
func TestJobKeepsIgnoredSignals(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT} {
		p, _ := newJob(t, "1s", "trap 'exit 3' USR1; kill -"+name+" $$; echo ready; "+proctest.Loop)
		p.Args = append([]string{"sh", "-c", `trap "" ` + name + `; exec "$0" "$@"`, p.Path}, p.Args[1:]...)
		p.Path = "/bin/sh"
		p.Start()
		p.Out.Await(t, "ready")
		p.Signal(sig)
		p.Signal(syscall.SIGUSR1) // the other one would come first
		p.WantCode(3)
	}
}

func TestJobLoss(t *testing.T) {
	t.Run("TERM is enough", func(t *testing.T) {
		p, lose := newJob(t, "1m", "trap 'echo bye; exit 4' TERM; echo ready; "+proctest.Loop)
		p.Start()
		p.Out.Await(t, "ready")
		lose()
		p.WantCode(exit.Lost)
		p.Out.Await(t, "bye")
		p.Err.Await(t, "zksync: lost /lock: lock lost; ending the command (SIGKILL in 1m0s)")
		p.Err.Await(t, "command's code 4")
	})
	t.Run("KILL after the grace", func(t *testing.T) {
		p, lose := newJob(t, "300ms", "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done")
		p.Start()
		p.Out.Await(t, "ready")
		lose()
		p.WantCode(exit.Lost)
		p.Out.Await(t, "no")
		p.Err.Await(t, "command's code 137")
	})
	t.Run("no grace", func(t *testing.T) {
		p, lose := newJob(t, "0s", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
		p.Start()
		p.Out.Await(t, "ready")
		lose()
		p.WantCode(exit.Lost)
	})
	t.Run("what the command left in its group", func(t *testing.T) {
		p, lose := newJob(t, "300ms", "(trap '' TERM; echo pid $(exec sh -c 'echo $PPID'); "+proctest.Loop+") & trap 'exit 0' TERM; "+proctest.Loop)
		p.Start()
		pid, err := strconv.Atoi(p.Out.Await(t, "pid "))
		if err != nil {
			t.Fatal(err)
		}
		lose()
		p.WantCode(exit.Lost)
		proctest.Eventually(t, "the rest of the group to die", func() bool { return !proctest.Alive(pid) })
	})
	t.Run("a stopped command", func(t *testing.T) {
		p, lose := newJob(t, "1m", "trap 'exit 0' TERM; echo pid $$; kill -STOP $$; "+proctest.Loop)
		p.Start()
		p.Out.Await(t, "pid ")
		lose()
		p.WantCode(exit.Lost)
	})
}

// The command may have ended before the news of the loss. Then it may have worked
// without the lock.
func TestJobLossNoticedAtTheEnd(t *testing.T) {
	p, lose := newCommandJob(t, roleLate, "1m", "/bin/sh", "-c", "read line; exit 5")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	lose()
	p.Err.Await(t, "the lock is lost")
	stdin.Close() // ends the command
	p.WantCode(exit.Lost)
	p.Err.Await(t, "command's code 5")
	if said := p.Err.String(); strings.Contains(said, "ending the command") {
		t.Errorf("the loss was noticed before the end: %q", said)
	}
}

func TestJobBlockedStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = w.Write(make([]byte, 4096)) // until it is full
	}
	p, lose := newJob(t, "100ms", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	p.Stderr = w
	p.Start()
	w.Close()
	p.Out.Await(t, "ready")
	lose()
	p.WantCode(exit.Lost)
}

func TestJobBrokenStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, lose := newJob(t, "1m", "exec 2>/dev/null; trap 'echo bye; exit 0' TERM; echo ready; "+proctest.Loop)
	p.Stderr = w
	p.Start()
	r.Close()
	w.Close()
	p.Out.Await(t, "ready")
	lose()
	p.WantCode(exit.Lost)
	p.Out.Await(t, "bye")
}
