package main

import (
	"context"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// Without a terminal there is no job control: a stop is for the command alone,
// and the lock stays.
func TestJobStopWithoutTerminal(t *testing.T) {
	p, _ := newJob(t, "1s", "echo pid=$$; read line; echo got=$line")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	pid, err := strconv.Atoi(p.out.await(t, "pid="))
	if err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGTSTP)
	eventually(t, "the command to stop", func() bool { return state(pid) == 'T' })
	if s := state(p.Process.Pid); s == 'T' {
		t.Error("the wrapper has stopped too")
	}
	p.signal(syscall.SIGCONT)
	eventually(t, "the command to go on", func() bool { return state(pid) != 'T' })
	stdin.Write([]byte("on\n"))
	p.out.await(t, "got=on")
	p.wantCode(0)
}

// Whoever wakes us may come before the news of the loss: a command that was
// stopped must not go on before the clock was asked.
func TestJobGoesOnOnlyWithTheLock(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	held := &fakeTenure{}
	held.ctx, held.lose = context.WithCancelCause(context.Background())
	held.lose(zksync.ErrLost)
	out := newPrinter(io.Discard, true)
	defer out.close()
	c := &child{
		job:  &job{lock: "/lock", grace: time.Hour, held: held, out: out},
		pid:  cmd.Process.Pid,
		lose: make(chan struct{}), // the news are still to come
	}
	c.goOn()
	if c.lost == nil || c.kill == nil {
		t.Error("the loss was not noticed")
	}
	cmd.Wait()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGTERM {
		t.Errorf("the command ended with %v, want SIGTERM", ws.Signal())
	}
}
