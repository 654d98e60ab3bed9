package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// TestLesson78_KilledWrapperTakesTheCommandAlong: kill -9 of the wrapper must
// not leave the command running without the lock.
func TestLesson78_KilledWrapperTakesTheCommandAlong(t *testing.T) {
	lock := lockPath(t)
	c := client(t)
	p := zksyncRun(t, brief, lock, "--", "sh", "-c", "trap '' TERM HUP INT; echo pid $$; "+loop).start()
	pid, err := strconv.Atoi(p.out.await(t, "pid "))
	if err != nil {
		t.Fatal(err)
	}
	next := zksyncRun(t, lock, "--", "sh", "-c", "kill -0 $OLD 2>/dev/null && grep -q '^State:.[^Z]' /proc/$OLD/status; echo old $?")
	next.Env = append(next.Env, "OLD="+strconv.Itoa(pid))
	next.start()
	next.err.await(t, "waiting for")

	killed := time.Now()
	p.signal(syscall.SIGKILL)
	p.wantCode(137)
	eventually(t, "the command to die", func() bool { return !alive(pid) })
	t.Logf("the command died within %v", time.Since(killed)) // how soon is the machine's: before the next one, see below
	next.wantCode(0)
	if took := time.Since(killed); took > sessionTimeout+2*tick+5*time.Second { // and some time to start and end
		t.Errorf("the lock was passed on %v after the kill", took)
	}
	if got := next.out.await(t, "old "); got == "0" {
		t.Error("the next command ran beside the first")
	}
	if n := queueLen(t, c, lock); n != 0 {
		t.Errorf("%d nodes left", n)
	}
	if _, _, err := c.Get(lock); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Error(err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(p.Process.Pid)); err == nil {
		t.Error("the wrapper is still there")
	}
}
