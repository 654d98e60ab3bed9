package job_test

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// Without a terminal there is no job control: a stop is for the command alone,
// and the lock stays.
func TestJobStopWithoutTerminal(t *testing.T) {
	p, _ := newJob(t, "1s", "echo pid=$$; read line; echo got=$line")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	pid, err := strconv.Atoi(p.Out.Await(t, "pid="))
	if err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTSTP)
	proctest.Eventually(t, "the command to stop", func() bool { return proctest.State(pid) == 'T' })
	if s := proctest.State(p.Process.Pid); s == 'T' {
		t.Error("the wrapper has stopped too")
	}
	p.Signal(syscall.SIGCONT)
	proctest.Eventually(t, "the command to go on", func() bool { return proctest.State(pid) != 'T' })
	stdin.Write([]byte("on\n"))
	p.Out.Await(t, "got=on")
	p.WantCode(0)
}

// The signal that continues the program may come before the news of the loss. A
// stopped command must not go on before the job has asked the lock.
func TestJobGoesOnOnlyWithTheLock(t *testing.T) {
	p, lose := newCommandJob(t, roleLate, "1h", "/bin/sh", "-c", "echo pid=$$; exec sleep 60")
	p.Start()
	pid, err := strconv.Atoi(p.Out.Await(t, "pid="))
	if err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTSTP)
	proctest.Eventually(t, "the command to stop", func() bool { return proctest.State(pid) == 'T' })
	lose()
	p.Err.Await(t, "the lock is lost")
	p.Signal(syscall.SIGCONT)
	p.WantCode(exit.Lost)
	p.Err.Await(t, "zksync: lost /lock: lock lost; ending the command (SIGKILL in 1h0m0s)")
	p.Err.Await(t, "command's code 143")
}
