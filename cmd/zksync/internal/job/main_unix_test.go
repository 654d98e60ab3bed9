//go:build unix

package job_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync"
)

// The roles of this binary. Each is a program that runs the command line after
// its first argument, the grace, under a lock that is lost when file descriptor
// 3 ends.
const (
	roleJob     = "job"
	roleLate    = "job with late news"    // the hold's context never ends: only Err returns the loss
	roleDropped = "job of another user's" // which may not signal its command when the lock is lost
)

var roles = map[string]func(){
	roleJob:     func() { runJob(func() bool { return true }) },
	roleLate:    func() { runJob(func() bool { return false }) },
	roleDropped: func() { runJob(func() bool { must(syscall.Setuid(65534)); return true }) },
}

func TestMain(m *testing.M) {
	proctest.PlayRole(roles)
	goleak.VerifyTestMain(m)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// runJob runs a job. When the lock is lost it calls tell, which decides whether the
// hold's context ends.
func runJob(tell func() bool) {
	grace, err := time.ParseDuration(os.Args[1])
	must(err)
	syscall.CloseOnExec(3)
	out := printer.New(os.Stderr, false)
	held := &hold{}
	held.ctx, held.end = context.WithCancel(context.Background())
	go func() {
		os.NewFile(3, "lock").Read(make([]byte, 1))
		held.lost.Store(true)
		if tell() {
			held.end()
			return
		}
		out.Errorf("the lock is lost")
	}()
	j := &job.Job{
		Path: os.Args[2], Args: os.Args[2:], Env: os.Environ(), Lock: "/lock",
		Grace: grace, Hold: held, Signals: process.CatchSignals(), Out: out,
	}
	end, err := j.Run()
	var e *exit.Error
	switch {
	case errors.As(err, &e):
		out.Errorf("%v", err)
		end.Code = e.Code
	case end.Running != 0:
		out.Errorf("process group %d runs", end.Running)
		end.Code = exit.Lost
	case end.Lost != nil:
		out.Errorf("command's code %d", end.Code)
		end.Code = exit.Lost
	}
	out.Close()
	os.Exit(end.Code)
}

// hold is a hold that the test ends.
type hold struct {
	ctx  context.Context
	end  func()
	lost atomic.Bool
}

func (h *hold) Context(context.Context) context.Context { return h.ctx }

func (h *hold) Err() error {
	if h.lost.Load() {
		return zksync.ErrLost
	}
	return nil
}

// newJob returns a job that runs script in a shell, and a function that makes it
// lose its lock.
func newJob(t *testing.T, grace, script string) (p *proctest.Process, lose func()) {
	t.Helper()
	return newCommandJob(t, roleJob, grace, "/bin/sh", "-c", script)
}

func newCommandJob(t *testing.T, role, grace string, argv ...string) (p *proctest.Process, lose func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	p = proctest.Prepare(t, role, append([]string{grace}, argv...)...)
	p.ExtraFiles = []*os.File{r}
	return p, func() { w.Close() }
}
