//go:build unix

package proctest

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// envRole names the role that a test binary plays.
const envRole = "ZKSYNC_TEST_ROLE"

// Limit is how long anything in these tests may take.
const Limit = 30 * time.Second

// Loop is a shell command that waits for signals, in steps that a trap can
// interrupt. It ends by itself if the test forgets it.
const Loop = "n=0; while [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done"

// PlayRole plays the role that this process was started in with [Prepare]; a role
// ends the process. Without a role it returns, and the tests can run.
func PlayRole(roles map[string]func()) {
	role := os.Getenv(envRole)
	os.Unsetenv(envRole) // what a role starts plays none
	if play := roles[role]; play != nil {
		play()
	}
	if signal.Ignored(syscall.SIGHUP) {
		// The tests run under nohup. The processes that they start would ignore
		// SIGHUP as well, which is right for a command and wrong for its tests.
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
	}
}

// Process is a test binary in a role.
type Process struct {
	*exec.Cmd
	Out, Err Output
	Done     chan struct{} // closed when the process has ended

	t *testing.T
}

// Prepare returns a process that plays role with the given arguments. It is not
// started yet. It has a session of its own, and so no terminal.
func Prepare(t *testing.T, role string, args ...string) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Cmd: exec.Command(exe, args...), t: t, Done: make(chan struct{})}
	// The race detector would wait for a second at the end.
	p.Env = append(os.Environ(), envRole+"="+role, "GORACE=atexit_sleep_ms=0")
	p.Stdout, p.Stderr = &p.Out, &p.Err
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.WaitDelay = 2 * time.Second // an orphan may keep stdout open
	return p
}

// Start starts the process, which is killed at the end of the test.
func (p *Process) Start() *Process {
	p.t.Helper()
	if err := p.Cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.Done)
		_ = p.Wait() // ProcessState says the same
	}()
	p.t.Cleanup(func() {
		_ = p.Process.Kill() // fails if it has ended
		<-p.Done
		if p.t.Failed() {
			p.t.Logf("%q\nstdout: %s\nstderr: %s", p.Args[1:], p.Out.String(), p.Err.String())
		}
	})
	return p
}

// Code waits for the end and returns the exit code, as the shell counts it.
func (p *Process) Code() int {
	p.t.Helper()
	select {
	case <-p.Done:
	case <-time.After(Limit):
		p.t.Fatalf("%q still runs", p.Args[1:])
	}
	ws := p.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return exit.Signal + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// WantCode waits for the end, and fails the test if the exit code is not want.
func (p *Process) WantCode(want int) {
	p.t.Helper()
	if got := p.Code(); got != want {
		p.t.Fatalf("exit code %d, want %d", got, want)
	}
}

// Signal sends sig to the process, which must not have ended.
func (p *Process) Signal(sig os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		p.t.Fatalf("%v: %v", sig, err)
	}
}

// SignalUntilEnd sends a signal again and again until the process has ended.
func (p *Process) SignalUntilEnd(sig os.Signal) {
	p.t.Helper()
	Eventually(p.t, "the end", func() bool {
		p.Process.Signal(sig)
		select {
		case <-p.Done:
			return true
		default:
			return false
		}
	})
}
