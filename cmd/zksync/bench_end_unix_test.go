//go:build unix

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// works waits until a measurement has made nodes of locks.
func works(t *testing.T, c *zk.Conn, p string) {
	t.Helper()
	proctest.Eventually(t, "the measurement", func() bool {
		all, _, err := c.Children(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range all {
			if below, _, err := c.Children(p + "/" + name); err == nil && len(below) > 2 {
				return true
			}
		}
		return false
	})
}

func TestBenchInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			grounds(t, func(t *testing.T, c *zk.Conn, addr string) {
				p := parent(t, c, world)
				b := newBenchOn(t, addr, "--path", p, "--duration", "60s", "--sessions", "3").Start()
				works(t, c, p)
				b.Signal(sig)
				b.WantCode(exit.Signal + int(sig))
				if out := b.Out.String() + b.Err.String(); out != "" {
					t.Errorf("output %q", out)
				}
				wantEmpty(t, c, p)
			})
		})
	}
}

// If the servers are out of reach when the signal comes, the measurement ends all the
// same, and says what may be left.
func TestBenchInterruptedWhileDisconnected(t *testing.T) {
	long(t)
	srv := zktest.Run(t, zktest.WithTick(tick), zktest.WithSessionLimits(tick, time.Minute))
	b := newBenchOn(t, srv.Addr(), "--duration", "60s").Start()
	proctest.Eventually(t, "the measurement", func() bool { return srv.Requests()["delete"] > 100 })
	srv.Refuse()
	srv.DisconnectAll()
	b.Signal(syscall.SIGINT)
	b.WantCode(exit.Unavailable)
	b.Err.Await(t, "nodes may be left at /zksync-bench-")
}

// What a killed measurement leaves the servers delete. A container that has had no child
// yet would stay, and zk.Lock makes a plain node in place of a container that is gone.
func TestBenchKilled(t *testing.T) {
	long(t)
	c, addr := onEmbedded(t, zktest.WithReapInterval(6*time.Second))
	p := parent(t, c, world)
	b := newBenchOn(t, addr, "--path", p, "--duration", "1s", brief).Start()
	proctest.Eventually(t, "the sessions", func() bool { // by now each node has had a child
		all, _, err := c.Children(p)
		if err != nil || len(all) == 0 {
			return false
		}
		root := p + "/" + all[0]
		all, _, _ = c.Children(root)
		return slices.ContainsFunc(all, func(name string) bool {
			in, _, _ := c.Children(root + "/" + name)
			return strings.HasPrefix(name, "sessions-") && strings.HasSuffix(name, "-zk.Lock") && len(in) > 0
		})
	})
	b.Signal(syscall.SIGKILL)
	<-b.Done
	proctest.Eventually(t, "the servers to delete the nodes", func() bool {
		left, _, err := c.Children(p)
		return err == nil && len(left) == 0
	})
}
