//go:build unix

package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// zksyncElect prepares "zksync elect" with the given rest of the command line.
func zksyncElect(t *testing.T, args ...string) *proctest.Process {
	t.Helper()
	p := proctest.Prepare(t, roleCommand, append([]string{"elect"}, args...)...)
	p.Env = append(p.Env, envServers+"="+zookeeper(t).addr)
	return p
}

// says is a command that prints its session, its node and its fence, and then waits. It
// ends with code 3 at SIGTERM.
const says = "trap 'echo bye; exit 3' TERM; echo session $ZKSYNC_SESSION; echo node $ZKSYNC_NODE; echo fence $ZKSYNC_FENCE; " + proctest.Loop

// told is what the last of n terms has printed after a word.
func told(t *testing.T, p *proctest.Process, n int, word string) (rest string) {
	t.Helper()
	proctest.Eventually(t, "a term's "+word, func() bool {
		parts := strings.Split(p.Out.String(), word)
		var whole bool
		rest, _, whole = strings.Cut(parts[len(parts)-1], "\n")
		return len(parts) == n+1 && whole
	})
	return rest
}

// A leader that loses its session, its node or the favour of an operator ends its command,
// and leads again.
func TestElectLoss(t *testing.T) {
	beside(t)
	for name, lose := range map[string]struct {
		how func(t *testing.T, session, node string) error
		say string
	}{
		"session": {func(t *testing.T, session, _ string) error {
			id, err := strconv.ParseUint(session, 0, 64)
			if err != nil {
				return err
			}
			return zookeeper(t).expire(int64(id))
		}, ""}, // that, or that the node is gone
		"node": {func(t *testing.T, _, node string) error { return client(t).Delete(node, -1) }, "the lock's node was deleted"},
		"asked back": {func(t *testing.T, _, node string) error {
			s, err := zksync.NewSession(client(t), sessionTimeout)
			if err != nil {
				return err
			}
			defer s.Close()
			return s.Revoke(t.Context(), node)
		}, "somebody has asked for it"},
	} {
		t.Run(name, func(t *testing.T) {
			lock := lockPath(t)
			p := zksyncElect(t, lock, "--", "sh", "-c", says).Start()
			last := int64(0)
			for n := 1; n <= 3; n++ {
				fence, err := strconv.ParseInt(told(t, p, n, "fence "), 10, 64)
				if err != nil || fence <= last {
					t.Fatalf("fence %d after %d, %v", fence, last, err)
				}
				last = fence
				if err := lose.how(t, told(t, p, n, "session "), told(t, p, n, "node ")); err != nil {
					t.Fatal(err)
				}
				told(t, p, n, "bye")
			}
			told(t, p, 4, "fence ")
			p.Signal(syscall.SIGTERM)
			p.WantCode(3)
			said := p.Err.String()
			if n := strings.Count(said, "zksync: lost "+lock+": "+lose.say); n != 3 {
				t.Errorf("%d losses:\n%s", n, said)
			}
			if n := strings.Count(said, "zksync: stands for "+lock+" again; the command's exit code was 3\n"); n != 3 {
				t.Errorf("stands %d times again:\n%s", n, said)
			}
			if n := queueLen(t, client(t), lock); n != 0 {
				t.Errorf("%d nodes left", n)
			}
		})
	}
}

// A leader that is told to end does not stand again, even if the leadership is lost before
// the command ends.
func TestElectIsToldToEnd(t *testing.T) {
	beside(t)
	slow := "trap 'echo term' TERM; trap 'exit 5' INT; trap 'echo hup' HUP; echo session $ZKSYNC_SESSION; " + proctest.Loop
	t.Run("after a loss", func(t *testing.T) {
		for _, code := range []int{exit.Lost, 99} {
			lock := lockPath(t)
			p := zksyncElect(t, "-q", "--grace", "60", "--lost-exit-code", strconv.Itoa(code), lock, "--", "sh", "-c", slow).Start()
			expire(t, p)
			p.Out.Await(t, "term")
			p.Signal(syscall.SIGINT)
			p.WantCode(code)
			p.Err.Await(t, "zksync: "+lock+" was lost while the command ran (exit code 5 of its own): ")
		}
	})
	t.Run("HUP is the command's", func(t *testing.T) {
		p := zksyncElect(t, "--grace", "0.2", lockPath(t), "--", "sh", "-c", slow).Start()
		p.Out.Await(t, "session ")
		p.Signal(syscall.SIGHUP)
		p.Out.Await(t, "hup")
		expire(t, p)
		p.Out.Await(t, "term")
		told(t, p, 2, "session ") // after SIGKILL
		p.Signal(syscall.SIGINT)
		p.WantCode(5)
	})
	t.Run("while it waits", func(t *testing.T) {
		lock := lockPath(t)
		h := holder(t, lock)
		for sig, code := range map[syscall.Signal]int{syscall.SIGHUP: 129, syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			p := zksyncElect(t, lock, "echo", "never").Start()
			p.Err.Await(t, "waiting for "+lock+", held by ")
			p.Signal(sig)
			p.WantCode(code)
			if p.Out.String() != "" {
				t.Error("the command ran")
			}
		}
		h.Signal(syscall.SIGTERM)
		h.WantCode(0)
	})
	t.Run("twice", func(t *testing.T) {
		proxy, err := ensemble.NewProxy(zookeeper(t).addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		lock := lockPath(t)
		h := holder(t, lock)
		p := zksyncElect(t, "--servers", proxy.Addr(), brief, lock, "echo", "never").Start()
		p.Err.Await(t, "waiting for "+lock+", held by ")
		proxy.Blackhole() // its node can't be deleted
		p.SignalUntilEnd(syscall.SIGINT)
		p.WantCode(130)
		p.Err.Await(t, "zksync: interrupted: the place in line for "+lock+" ends when the session times out, in 3s")
		proxy.DisconnectAll()
		h.Signal(syscall.SIGTERM)
		h.WantCode(0)
	})
}

// A leader without the permission for its path has a code of its own.
func TestElectPermission(t *testing.T) {
	beside(t)
	lock := lockPath(t)
	c := client(t)
	if _, err := c.Create("/test", nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
		t.Fatal(err)
	}
	if _, err := c.Create(lock, nil, 0, zk.WorldACL(zk.PermRead|zk.PermAdmin)); err != nil && err != zk.ErrNodeExists {
		t.Fatal(err)
	}
	p := zksyncElect(t, lock, "--", "echo", "never").Start()
	p.WantCode(exit.NoPermission)
	p.Err.Await(t, "no permission")
}
