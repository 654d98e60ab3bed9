//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// limit is how long anything in these tests may take before it has failed.
const limit = 30 * time.Second

// process is a test binary in another role.
type process struct {
	*exec.Cmd
	t        *testing.T
	out, err output
	done     chan struct{}
}

// prepare returns a process that is not started yet. It has a session of its
// own, and so no terminal, and dies with the test.
func prepare(t *testing.T, role string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(exe, args...), t: t, done: make(chan struct{})}
	// Without the second that the race detector waits at the end.
	p.Env = append(os.Environ(), envRole+"="+role, "GORACE=atexit_sleep_ms=0")
	p.Stdout, p.Stderr = &p.out, &p.err
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.WaitDelay = 2 * time.Second // an orphan may keep stdout open
	return p
}

func (p *process) start() *process {
	p.t.Helper()
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.Wait()
	}()
	p.t.Cleanup(func() {
		p.Process.Kill()
		<-p.done
		if p.t.Failed() {
			p.t.Logf("%q\nstdout: %s\nstderr: %s", p.Args[1:], p.out.String(), p.err.String())
		}
	})
	return p
}

// code waits for the end and returns the exit code, in the shell's way.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.t.Fatalf("%q still runs", p.Args[1:])
	}
	ws := p.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return exitSignal + int(ws.Signal())
	}
	return ws.ExitStatus()
}

func (p *process) wantCode(want int) {
	p.t.Helper()
	if got := p.code(); got != want {
		p.t.Fatalf("exit code %d, want %d", got, want)
	}
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		p.t.Fatalf("%v: %v", sig, err)
	}
}

// output collects what a process prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// forget makes await look only at what comes from now on.
func (o *output) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Reset()
}

// await waits until text was printed and returns the line that follows it.
func (o *output) await(t *testing.T, text string) (rest string) {
	t.Helper()
	eventually(t, "output "+text, func() bool {
		_, after, found := strings.Cut(o.String(), text)
		rest, _, _ = strings.Cut(after, "\n")
		return found && strings.Contains(after, "\n")
	})
	return rest
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(limit)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited %v for %s", limit, what)
		}
	}
}

// jobMain is the role "job": it runs the command line after the first argument,
// the grace, under a lock that is lost when file descriptor 3 ends.
func jobMain() {
	grace, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	syscall.CloseOnExec(3)
	held := &fakeTenure{}
	held.ctx, held.lose = context.WithCancelCause(context.Background())
	go func() {
		os.NewFile(3, "lock").Read(make([]byte, 1))
		held.lose(zksync.ErrLost)
	}()
	out := newPrinter(os.Stderr, false)
	j := &job{
		path: os.Args[2], argv: os.Args[2:], env: os.Environ(), lock: "/lock",
		grace: grace, held: held, sigs: catchSignals(), out: out,
	}
	end, err := j.run()
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		out.errorf("%v", err)
		end.code = exit.code
	case end.lost != nil:
		out.errorf("command's code %d", end.code)
		end.code = exitLost
	}
	out.close()
	os.Exit(end.code)
}

type fakeTenure struct {
	ctx  context.Context
	lose context.CancelCauseFunc
}

func (f *fakeTenure) Context(context.Context) context.Context { return f.ctx }
func (f *fakeTenure) Err() error                              { return context.Cause(f.ctx) }

// newJob returns a job that runs script in a shell, and what loses its lock.
func newJob(t *testing.T, grace, script string) (p *process, lose func()) {
	t.Helper()
	return newCommandJob(t, grace, "/bin/sh", "-c", script)
}

func newCommandJob(t *testing.T, grace string, argv ...string) (p *process, lose func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	p = prepare(t, "job", append([]string{grace}, argv...)...)
	p.ExtraFiles = []*os.File{r}
	return p, func() { w.Close() }
}
