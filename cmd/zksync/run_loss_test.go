//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// expire ends the session of a run whose command printed it after "session ".
func expire(t *testing.T, p *proctest.Process) {
	t.Helper()
	id, err := strconv.ParseUint(p.Out.Await(t, "session 0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := zookeeper(t).expire(int64(id)); err != nil {
		t.Fatal(err)
	}
}

func TestRunLoss(t *testing.T) {
	beside(t)
	t.Run("TERM", func(t *testing.T) {
		lock := lockPath(t)
		p := zksyncRun(t, lock, "--", "sh", "-c", "trap 'echo bye; exit 0' TERM; echo session $ZKSYNC_SESSION; "+proctest.Loop).Start()
		expire(t, p)
		p.WantCode(exit.Lost)
		p.Out.Await(t, "bye")
		p.Err.Await(t, "zksync: lost "+lock+": ")
		p.Err.Await(t, "zksync: "+lock+" was lost while the command ran (exit code 0 of its own): ")
	})
	t.Run("KILL after the grace, own code, quiet", func(t *testing.T) {
		lock := lockPath(t)
		p := zksyncRun(t, "-q", "--grace", "0.5", "--lost-exit-code", "99", lock, "--",
			"sh", "-c", "trap 'echo no' TERM; echo session $ZKSYNC_SESSION; "+proctest.Loop).Start()
		expire(t, p)
		p.Out.Await(t, "no")
		p.WantCode(99)
		p.Err.Await(t, "(SIGKILL in 500ms)")
		p.Err.Await(t, "(exit code 137 of its own)")
	})
	t.Run("node deleted", func(t *testing.T) {
		lock := lockPath(t)
		p := zksyncRun(t, lock, "--", "sh", "-c", "echo node $ZKSYNC_NODE; exec sleep 60").Start()
		if err := client(t).Delete(p.Out.Await(t, "node "), -1); err != nil {
			t.Fatal(err)
		}
		p.WantCode(exit.Lost)
		p.Err.Await(t, "(exit code 143 of its own)")
	})
	t.Run("no contact", func(t *testing.T) {
		long(t)
		proxy, err := ensemble.NewProxy(zookeeper(t).addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		lock := lockPath(t)
		p := newRunOn(t, proxy.Addr(), brief, lock, "--", "sh", "-c", "echo ready; exec sleep 60").Start()
		p.Out.Await(t, "ready")
		start := time.Now()
		proxy.Blackhole()
		// Nobody can take the lock before the session is over.
		p.Err.Await(t, "lost "+lock)
		if took := time.Since(start); took >= sessionTimeout {
			t.Errorf("the loss was noticed after %v", took)
		}
		p.WantCode(exit.Lost)
		proxy.DisconnectAll()
	})
}

// TestRunStopped stops the wrapper until another one has got the lock.
func TestRunStopped(t *testing.T) {
	long(t)
	lock := lockPath(t)
	p := zksyncRun(t, brief, lock, "--", "sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; "+proctest.Loop).Start()
	p.Out.Await(t, "ready")
	p.Signal(syscall.SIGSTOP)
	next := holder(t, lock)
	p.Signal(syscall.SIGCONT)
	p.WantCode(exit.Lost)
	p.Out.Await(t, "bye")
	next.Signal(syscall.SIGTERM)
	next.WantCode(0)
}

// TestRunReleaseFails ends the command while ZooKeeper is out of reach.
func TestRunReleaseFails(t *testing.T) {
	long(t)
	proxy, err := ensemble.NewProxy(zookeeper(t).addr)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	lock := lockPath(t)
	for _, signals := range []int{0, 2} {
		// A long timeout, so that the end of the session is not noticed.
		p := newRunOn(t, proxy.Addr(), "--session-timeout", "10s", lock, "--", "sh", "-c", "echo ready; read line; echo end; exit 6")
		stdin, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.Start()
		p.Out.Await(t, "ready")
		proxy.Blackhole()
		start := time.Now()
		stdin.Close()
		p.Out.Await(t, "end")
		if signals > 0 {
			p.SignalUntilEnd(syscall.SIGINT)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("ended %v after two signals", took)
			}
		}
		p.WantCode(6)
		// The release and the end of the session have five seconds together.
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("ended after %v", took)
		}
		if said := p.Err.String(); !strings.Contains(said, "given back") || !strings.Contains(said, "in 10s") {
			t.Errorf("stderr %q", said)
		}
		proxy.Heal()
		proxy.DisconnectAll()
	}
}
