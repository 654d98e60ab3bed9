//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// loop waits in the shell for signals, in steps that a trap can interrupt. It
// ends by itself should the test forget it.
const loop = "n=0; while [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done"

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
		{"no interpreter", []string{script("#!/no/such/interpreter\n")}, exitNotFound, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := newCommandJob(t, "1s", tt.argv...)
			p.start().wantCode(tt.want)
			if got := p.out.String(); got != tt.out {
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
			p.Env = append(p.Env, "INNER=trap 'echo inner; exit' "+name+"; echo ready; "+loop)
			p.start()
			p.out.await(t, "ready")
			p.signal(sig)
			p.wantCode(7)
			p.out.await(t, "inner")
			p.out.await(t, "outer")
		})
	}
}

func TestJobPassesSecondSignal(t *testing.T) {
	p, _ := newJob(t, "1s", "trap 'echo first; trap \"echo second; exit 5\" INT' INT; echo ready; "+loop)
	p.start()
	p.out.await(t, "ready")
	p.signal(syscall.SIGINT)
	p.out.await(t, "first")
	p.signal(syscall.SIGINT)
	p.wantCode(5)
	p.out.await(t, "second")
}

func TestJobKeepsIgnoredHangup(t *testing.T) {
	p, _ := newJob(t, "1s", "trap 'exit 3' USR1; echo ready; "+loop)
	// As nohup does it.
	p.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, p.Path}, p.Args[1:]...)
	p.Path = "/bin/sh"
	p.start()
	p.out.await(t, "ready")
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGUSR1) // a HUP would come first
	p.wantCode(3)
}

func TestJobLoss(t *testing.T) {
	t.Run("TERM is enough", func(t *testing.T) {
		p, lose := newJob(t, "1m", "trap 'echo bye; exit 4' TERM; echo ready; "+loop)
		p.start()
		p.out.await(t, "ready")
		lose()
		p.wantCode(exitLost)
		p.out.await(t, "bye")
		p.err.await(t, "zksync: lost /lock: lock lost; ending the command (SIGKILL in 1m0s)")
		p.err.await(t, "command's code 4")
	})
	t.Run("KILL after the grace", func(t *testing.T) {
		p, lose := newJob(t, "300ms", "trap 'echo no' TERM; echo ready; while :; do sleep 0.05; done")
		p.start()
		p.out.await(t, "ready")
		lose()
		p.wantCode(exitLost)
		p.out.await(t, "no")
		p.err.await(t, "command's code 137")
	})
	t.Run("no grace", func(t *testing.T) {
		p, lose := newJob(t, "0s", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
		p.start()
		p.out.await(t, "ready")
		lose()
		p.wantCode(exitLost)
	})
	t.Run("what the command left in its group", func(t *testing.T) {
		p, lose := newJob(t, "300ms", "(trap '' TERM; echo pid $(exec sh -c 'echo $PPID'); "+loop+") & trap 'exit 0' TERM; "+loop)
		p.start()
		pid, err := strconv.Atoi(p.out.await(t, "pid "))
		if err != nil {
			t.Fatal(err)
		}
		lose()
		p.wantCode(exitLost)
		eventually(t, "the rest of the group to die", func() bool { return !alive(pid) })
	})
	t.Run("a stopped command", func(t *testing.T) {
		p, lose := newJob(t, "1m", "trap 'exit 0' TERM; echo pid $$; kill -STOP $$; "+loop)
		p.start()
		p.out.await(t, "pid ")
		lose()
		p.wantCode(exitLost)
	})
}

// The command has ended by itself before the news of the loss: its last words
// may have been written without the lock.
func TestJobLossNoticedAtTheEnd(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held := &fakeTenure{}
	held.ctx, held.lose = context.WithCancelCause(context.Background())
	held.lose(zksync.ErrLost)
	c := &child{job: &job{held: held}, pid: cmd.Process.Pid}
	eventually(t, "the end", func() bool { c.reap(); return c.over })
	cmd.Process.Release()
	if end := c.ended(); end.code != 0 || !errors.Is(end.lost, zksync.ErrLost) {
		t.Errorf("ended with %+v", end)
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
	p.start()
	w.Close()
	p.out.await(t, "ready")
	lose()
	p.wantCode(exitLost)
}

func TestJobBrokenStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, lose := newJob(t, "1m", "exec 2>/dev/null; trap 'echo bye; exit 0' TERM; echo ready; "+loop)
	p.Stderr = w
	p.start()
	r.Close()
	w.Close()
	p.out.await(t, "ready")
	lose()
	p.wantCode(exitLost)
	p.out.await(t, "bye")
}
