package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// A command that outlived a wrapper killed by kill -9 would go on without the lock,
// beside the command of the next holder.
func TestRunCommandDiesWithKilledWrapper(t *testing.T) {
	beside(t)
	lock := lockPath(t)
	c := client(t)
	p := zksyncRun(t, brief, lock, "--", "sh", "-c", "trap '' TERM HUP INT; echo session $ZKSYNC_SESSION; echo pid $$; "+proctest.Loop).Start()
	pid, err := strconv.Atoi(p.Out.Await(t, "pid "))
	if err != nil {
		t.Fatal(err)
	}
	next := zksyncRun(t, lock, "--", "sh", "-c", "kill -0 $OLD 2>/dev/null && grep -q '^State:.[^Z]' /proc/$OLD/status; echo old $?")
	next.Env = append(next.Env, "OLD="+strconv.Itoa(pid))
	next.Start()
	next.Err.Await(t, "waiting for")

	killed := time.Now()
	p.Signal(syscall.SIGKILL)
	p.WantCode(137)
	proctest.Eventually(t, "the command to die", func() bool { return !proctest.Alive(pid) })
	t.Logf("the command died within %v", time.Since(killed)) // that depends on the machine; it must be before the next command starts
	if !isLong() {
		expire(t, p) // the long form waits for the session timeout
	}
	next.WantCode(0)
	if took := time.Since(killed); took > sessionTimeout+2*tick+5*time.Second { // with some time to start and to end
		t.Errorf("the lock was passed on %v after the kill", took)
	}
	if got := next.Out.Await(t, "old "); got == "0" {
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
