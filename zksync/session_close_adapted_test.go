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
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The answer to a create is missing, the call is cancelled, the session closed:
// the node, which Close names, goes when the network is back.
func TestCloseNamesAnOpenCreate(t *testing.T) {
	t.Parallel()
	for name, heal := range map[string]func(suite.Network){
		"AnswerIsLate": func(n suite.Network) { n.Heal() },
		"AnswerIsLost": func(n suite.Network) { n.DisconnectAll(); n.Heal() },
	} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				l := z.Lend(t)
				path := z.UsedPath(t, l.Session)
				l.Net.Blackhole(zktest.ToClient)
				ctx, cancel := context.WithCancel(suite.Context(t))
				waits := suite.Async(func() error { return zksync.NewMutex(l.Session, path).LockContext(ctx) })
				suite.InLine(t, l.Raw, path, 1)
				cancel()
				suite.IsError(t, suite.Receive(t, waits), context.Canceled)
				node := suite.Children(t, l.Raw, path)[0]
				suite.Within(t, 5*time.Second, func() {
					suite.CloseNames(t, l.Close(), "created perhaps", path+"/"+node[:len(node)-10])
				})
				if got := suite.Children(t, l.Raw, path); len(got) != 1 {
					t.Errorf("below the path: %v", got)
				}
				heal(l.Net)
				l.Gone(t, path)
			}, suite.Timeless)
		})
	}
}

// Deletions without an answer go on after Close: of what is held, what was given
// back just before, and a Multi.
func TestCloseGoesOnWithDeletions(t *testing.T) {
	suite.Long(t)
	t.Parallel()
	for name, cuts := range map[string]int32{
		"Lost":     0, // on their way: they have to be sent again
		"Flapping": 5, // each request ends its connection: no sign of a client that is closed
	} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				l := z.Lend(t)
				path := z.UsedPath(t, l.Session)
				held, err := zksync.NewMutex(l.Session, path).Hold(suite.Context(t))
				suite.Must(t, err)
				given, err := zksync.NewMutex(l.Session, path+"-given").Hold(suite.Context(t))
				suite.Must(t, err)
				multi, err := zksync.NewMulti(zksync.NewMutex(l.Session, path+"-a"), zksync.NewRWMutex(l.Session, path+"-b")).Hold(suite.Context(t))
				suite.Must(t, err)
				l.P.Blackhole()
				suite.IsError(t, given.Release(suite.DoneContext()), suite.ErrCause)
				suite.Within(t, 5*time.Second, func() {
					err := l.Close()
					for _, h := range []*zksync.Hold{held, given, multi} {
						suite.CloseNames(t, err, "not deleted", h.Node())
					}
					suite.CloseNames(t, err, "not deleted", path+"-b/")
				})
				var cut atomic.Int32
				l.P.SetHook(func(f ensemble.Frame) ensemble.Action {
					if !f.FromServer && (f.Op == "delete" || f.Op == "multi" || f.Op == "sync") && cut.Add(1) <= cuts {
						return ensemble.DropAndDisconnect
					}
					return ensemble.Pass
				})
				l.P.DisconnectAll()
				l.P.Heal()
				for _, p := range []string{path, path + "-given", path + "-a", path + "-b"} {
					l.Gone(t, p)
				}
			})
		})
	}
}

// After Close no goroutine is left once the clean-up has nothing to do: at once
// where nothing was left, when the nodes are gone, when their session is over, and
// when the program closes its client.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	suite.Long(t)
	z := suite.Real(t)
	after := map[string]func(l *suite.Lent){
		"NodesGone":    func(l *suite.Lent) { l.P.Heal() },
		"ClientClosed": func(l *suite.Lent) { l.End() },
		"ClientClosedOffline": func(l *suite.Lent) {
			suite.CutOff(l.P)
			l.End()
		},
		"SessionOver": func(l *suite.Lent) {
			suite.Must(t, z.Expire(l.ID))
			l.P.DisconnectAll()
			l.P.Heal()
		},
	}
	var all sync.WaitGroup
	for _, f := range after {
		l := z.Lend(t)
		h, err := zksync.NewMutex(l.Session, z.Path(t)).Hold(suite.Context(t))
		suite.Must(t, err)
		l.P.Blackhole()
		all.Go(func() {
			suite.CloseNames(t, l.Close(), "not deleted", h.Node())
			f(l)
		})
	}
	all.Wait()
	for deadline := time.Now().Add(suite.Patience); ours("") != ""; suite.SleepReal(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left:\n%s", ours(""))
		}
	}

	l := z.Lend(t)
	suite.LockAndUnlock(t, zksync.NewMutex(l.Session, z.Path(t)))
	suite.Must(t, l.Close())
	if stacks := ours(""); stacks != "" {
		t.Errorf("nothing was left to do:\n%s", stacks)
	}
	l.Lives(t)
}

// The same in virtual time: the bubble would not end with a goroutine left.
func TestCloseLeavesNoGoroutineInVirtualTime(t *testing.T) {
	for name, after := range map[string]func(srv *zktest.Server, c *zk.Conn){
		"NodesGone":    func(srv *zktest.Server, _ *zk.Conn) { srv.Heal() },
		"ClientClosed": func(_ *zktest.Server, c *zk.Conn) { c.Close() },
		"ClientClosedOffline": func(srv *zktest.Server, c *zk.Conn) {
			srv.Refuse()
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
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				c, _, err := zk.Connect([]string{"10.0.0.1"}, suite.AdaptedTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(suite.Mute{}), zk.WithLogInfo(false))
				suite.Must(t, err)
				defer c.Close()
				s, err := zksync.NewSession(c, suite.AdaptedTimeout, zksync.WithLogger(suite.Logger(t)))
				suite.Must(t, err)
				h, err := zksync.NewMutex(s, "/lock").Hold(t.Context())
				suite.Must(t, err)
				srv.Blackhole()
				suite.CloseNames(t, s.Close(), "not deleted", h.Node())
				after(srv, c)
				suite.SleepReal(2 * suite.AdaptedTimeout)
				if stacks := ours("synctest bubble"); stacks != "" {
					t.Errorf("left:\n%s", stacks)
				}
			})
		})
	}
}

// ours is the stacks of the library's goroutines in this process whose first line
// has a word, or of all with "": only of tests that run alone.
func ours(word string) string {
	buf := make([]byte, 16<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		first, frames, _ := strings.Cut(stack, "\n")
		if !strings.Contains(first, word) {
			continue
		}
		if strings.Contains(frames, "zksync/internal/conn.") || strings.Contains(frames, "zksync/internal/queue.") || strings.Contains(frames, "go-zksync/zksync.") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// Close ends the calls in progress, even if its clean-up goes on after it.
func TestCloseEndsCallsOnALivingClient(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		l := z.Lend(t)
		path := z.UsedPath(t, l.Session)
		rw := zksync.NewRWMutex(l.Session, path)
		o := zksync.NewOwner("writes and reads")
		suite.Must(t, rw.As(o).LockContext(suite.Context(t)))
		m := zksync.NewMutex(l.Session, path+"-plain")
		suite.Must(t, m.LockContext(suite.Context(t)))
		l.Net.Blackhole()
		calls := map[string]<-chan error{
			"Ping":          suite.Async(func() error { return l.Ping(context.Background()) }),
			"Inspect":       suite.Async(func() error { _, err := l.Inspect(context.Background(), path); return err }),
			"UnlockContext": suite.Async(func() error { return m.UnlockContext(context.Background()) }),
			"Downgrade":     suite.Async(func() error { return rw.RLocker().As(o).LockContext(context.Background()) }),
			"LockContext":   suite.Async(func() error { return rw.LockContext(context.Background()) }),
		}
		suite.SleepReal(100 * time.Millisecond)
		suite.IsError(t, l.Close())
		for name, call := range calls {
			select {
			case err := <-call:
				suite.IsError(t, err, zksync.ErrClosed)
			case <-time.After(suite.Overrun):
				t.Errorf("%s goes on", name)
			}
		}
		l.Net.Heal()
		l.Gone(t, path)
		l.Gone(t, path+"-plain")
	}, suite.Timeless)
}
