package zksync_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A client of the program's own lives on after Close, and its session with it:
// whatever a lock has left there has to go by itself.

// adaptedTimeout is well above the 4 s that Close waits: no session ends meanwhile.
const adaptedTimeout = 10 * time.Second

// lent is a session on a program's client, which reaches the server by a proxy.
type lent struct {
	*zksync.Session
	p   *zktest.Proxy
	c   *zk.Conn
	id  int64    // of the client's session
	raw *zk.Conn // goes another way
	end func()   // closes the client
}

func (z *site) lend(t *testing.T) *lent {
	t.Helper()
	l := &lent{p: z.proxied(t), raw: z.raw(t)}
	c, events, err := zk.Connect([]string{l.p.Addr()}, adaptedTimeout, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	ok(t, err)
	l.c = c
	l.end = func() {
		c.Close()
		for range events {
		}
	}
	t.Cleanup(l.end)
	l.Session, err = zksync.NewSession(c, adaptedTimeout, zksync.WithLogger(testLogger(t)))
	ok(t, err)
	t.Cleanup(func() { _ = l.Close() })
	ok(t, l.Ping(short(t)))
	l.id = c.SessionID()
	return l
}

// lives checks that the client's session is the one that it had.
func (l *lent) lives(t *testing.T) {
	t.Helper()
	if _, _, err := l.c.Exists("/"); err != nil || l.c.SessionID() != l.id {
		t.Errorf("session %#x with %v, want %#x", l.c.SessionID(), err, l.id)
	}
}

// gone waits until no node is left below p.
func (l *lent) gone(t *testing.T, p string) {
	t.Helper()
	lineOf(t, l.raw, p, 0)
	l.lives(t)
}

// names checks that Close tells of one path, in its own words.
func closeNames(t *testing.T, err error, words, path string) {
	t.Helper()
	e := isError(t, err)
	if e.Op != "close" || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
		t.Errorf("Close: %v, want %q of %q", err, words, path)
	}
}

// The answer to a create is missing, the call is cancelled, the session closed:
// the node, which Close names, goes when the network is back.
func TestCloseNamesAnOpenCreate(t *testing.T) {
	t.Parallel()
	for name, heal := range map[string]func(*zktest.Proxy){
		"AnswerIsLate": func(p *zktest.Proxy) { p.Heal() },
		"AnswerIsLost": func(p *zktest.Proxy) { p.Cut(); p.Heal() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, z *site) {
				l := z.lend(t)
				path := usedPath(t, l.Session)
				l.p.Blackhole(false, true)
				ctx, cancel := context.WithCancel(short(t))
				waits := async(func() error { return zksync.NewMutex(l.Session, path).LockContext(ctx) })
				lineOf(t, l.raw, path, 1)
				cancel()
				isError(t, get(t, waits), context.Canceled)
				node := children(t, l.raw, path)[0]
				within(t, 5*time.Second, func() {
					closeNames(t, l.Close(), "created perhaps", path+"/"+node[:len(node)-10])
				})
				if got := children(t, l.raw, path); len(got) != 1 {
					t.Errorf("below the path: %v", got)
				}
				heal(l.p)
				l.gone(t, path)
			})
		})
	}
}

// Deletions without an answer go on after Close: of what is held, what was given
// back just before, and a Multi.
func TestCloseGoesOnWithDeletions(t *testing.T) {
	t.Parallel()
	for name, cuts := range map[string]int32{
		"Lost":     0, // on their way: they have to be sent again
		"Flapping": 5, // each request ends its connection: no sign of a client that is closed
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, z *site) {
				l := z.lend(t)
				path := usedPath(t, l.Session)
				held, err := zksync.NewMutex(l.Session, path).Hold(short(t))
				ok(t, err)
				given, err := zksync.NewMutex(l.Session, path+"-given").Hold(short(t))
				ok(t, err)
				multi, err := zksync.NewMulti(zksync.NewMutex(l.Session, path+"-a"), zksync.NewRWMutex(l.Session, path+"-b")).Hold(short(t))
				ok(t, err)
				l.p.Blackhole(true, true)
				isError(t, given.Release(done()), errCause)
				within(t, 5*time.Second, func() {
					err := l.Close()
					for _, h := range []*zksync.Hold{held, given, multi} {
						closeNames(t, err, "not deleted", h.Node())
					}
					closeNames(t, err, "not deleted", path+"-b/")
				})
				var cut atomic.Int32
				l.p.SetHook(func(f zktest.Frame) zktest.Action {
					if !f.FromServer && (f.Op == "delete" || f.Op == "multi" || f.Op == "sync") && cut.Add(1) <= cuts {
						return zktest.DropAndCut
					}
					return zktest.Pass
				})
				l.p.Cut()
				l.p.Heal()
				for _, p := range []string{path, path + "-given", path + "-a", path + "-b"} {
					l.gone(t, p)
				}
			})
		})
	}
}

// After Close no goroutine is left once the clean-up has nothing to do: at once
// where nothing was left, when the nodes are gone, when their session is over, and
// when the program closes its client.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	z := realSite(t)
	after := map[string]func(l *lent){
		"NodesGone":    func(l *lent) { l.p.Heal() },
		"ClientClosed": func(l *lent) { l.end() },
		"ClientClosedOffline": func(l *lent) {
			off(l.p)
			l.end()
		},
		"SessionOver": func(l *lent) {
			ok(t, z.expire(l.id))
			l.p.Cut()
			l.p.Heal()
		},
	}
	var all sync.WaitGroup
	for _, f := range after {
		l := z.lend(t)
		h, err := zksync.NewMutex(l.Session, lockPath(t)).Hold(short(t))
		ok(t, err)
		l.p.Blackhole(true, true)
		all.Go(func() {
			closeNames(t, l.Close(), "not deleted", h.Node())
			f(l)
		})
	}
	all.Wait()
	for deadline := time.Now().Add(patience); ours() != ""; pass(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left:\n%s", ours())
		}
	}

	l := z.lend(t)
	free(t, zksync.NewMutex(l.Session, lockPath(t)))
	ok(t, l.Close())
	if stacks := ours(); stacks != "" {
		t.Errorf("nothing was left to do:\n%s", stacks)
	}
	l.lives(t)
}

// The same in virtual time: the bubble would not end with a goroutine left.
func TestCloseLeavesNoGoroutineInVirtualTime(t *testing.T) {
	for name, after := range map[string]func(srv *zktest.Server, c *zk.Conn){
		"NodesGone":    func(srv *zktest.Server, _ *zk.Conn) { srv.Heal() },
		"ClientClosed": func(_ *zktest.Server, c *zk.Conn) { c.Close() },
		"ClientClosedOffline": func(srv *zktest.Server, c *zk.Conn) {
			srv.Refuse(true)
			srv.Disconnect(c.SessionID())
			c.Close()
		},
		"SessionOver": func(srv *zktest.Server, c *zk.Conn) {
			srv.Expire(c.SessionID())
			srv.Disconnect(c.SessionID())
			srv.Heal()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				c, _, err := zk.Connect([]string{"10.0.0.1"}, adaptedTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(mute{}), zk.WithLogInfo(false))
				ok(t, err)
				defer c.Close()
				s, err := zksync.NewSession(c, adaptedTimeout, zksync.WithLogger(testLogger(t)))
				ok(t, err)
				h, err := zksync.NewMutex(s, "/lock").Hold(t.Context())
				ok(t, err)
				srv.Blackhole(true, true)
				closeNames(t, s.Close(), "not deleted", h.Node())
				after(srv, c)
				pass(2 * adaptedTimeout)
				if stacks := ours(); stacks != "" {
					t.Errorf("left:\n%s", stacks)
				}
			})
		})
	}
}

// ours is the stacks of the library's goroutines in this process: only of tests
// that run alone.
func ours() string {
	buf := make([]byte, 16<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "zksync/internal/conn.") || strings.Contains(stack, "zksync/internal/queue.") || strings.Contains(stack, "go-zksync/zksync.") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// Calls in progress end with Close, also where the clean-up goes on.
func TestCloseEndsCallsOnALivingClient(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		l := z.lend(t)
		path := usedPath(t, l.Session)
		rw := zksync.NewRWMutex(l.Session, path)
		o := zksync.NewOwner("writes and reads")
		ok(t, rw.As(o).LockContext(short(t)))
		m := zksync.NewMutex(l.Session, path+"-plain")
		ok(t, m.LockContext(short(t)))
		l.p.Blackhole(true, true)
		calls := map[string]<-chan error{
			"Ping":          async(func() error { return l.Ping(context.Background()) }),
			"Inspect":       async(func() error { _, err := l.Inspect(context.Background(), path); return err }),
			"UnlockContext": async(func() error { return m.UnlockContext(context.Background()) }),
			"Downgrade":     async(func() error { return rw.RLocker().As(o).LockContext(context.Background()) }),
			"LockContext":   async(func() error { return rw.LockContext(context.Background()) }),
		}
		pass(100 * time.Millisecond)
		isError(t, l.Close())
		for name, call := range calls {
			select {
			case err := <-call:
				isError(t, err, zksync.ErrClosed)
			case <-time.After(overrun):
				t.Errorf("%s goes on", name)
			}
		}
		l.p.Heal()
		l.gone(t, path)
		l.gone(t, path+"-plain")
	})
}
