package main

import (
	"strconv"
	"syscall"
	"testing"
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
