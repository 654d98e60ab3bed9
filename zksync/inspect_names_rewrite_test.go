package zksync_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Readers on one node have no owner. The node carries the trace of one who still
// reads, as long as it is certain who does.
func TestSharedNodeCarriesALiveTrace(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial, tracesNodes()), z.Via(t, srv.Dial)
		rw := zksync.NewRWMutex(s, "/l")
		ctx, tp := [4]context.Context{}, [4]string{}
		for i := range ctx {
			ctx[i], tp[i] = traced(i)
		}
		shows := func(what, want string) {
			t.Helper()
			time.Sleep(wrongFor)
			if got := firstNode(t, other, "/l"); got.TraceParent != want || got.OwnerID != "" {
				t.Errorf("%s: %q, want %q", what, got.TraceParent, want)
			}
		}
		for i := range 3 {
			suite.Must(t, rw.RLockContext(ctx[i]))
		}
		shows("three read", tp[0])
		suite.Must(t, rw.RUnlockContext(ctx[1]))
		shows("the second has left", tp[0])
		suite.Must(t, rw.RUnlockContext(ctx[0]))
		shows("the first has left, too", tp[2])
		suite.Must(t, rw.RLockContext(ctx[3]))
		rw.RUnlock()
		shows("one of two has left", "")
		suite.Must(t, rw.RLockContext(ctx[1]))
		shows("one has come since", tp[1])
		rw.RUnlock()
		rw.RUnlock()
	})
}

// A request to give the lock back stays where it was written: the node still asks for
// that after a hand-over. It names the new holder if its data can still be read.
func TestRewriteKeepsARevocation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, names string
		ask         func(t *testing.T, s *zksync.Session, node string)
	}{
		{"Revoke", "b", func(t *testing.T, s *zksync.Session, node string) {
			suite.Must(t, s.Revoke(suite.Context(t), node))
		}},
		{"Curator", "", func(t *testing.T, s *zksync.Session, node string) {
			_, err := s.Conn().Set(node, []byte("__REVOKE__"), -1)
			suite.Must(t, err)
		}},
	} {
		for _, waiting := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/waiting=%t", tt.name, waiting), func(t *testing.T) {
				suite.Parallel(t)
				suite.Each(t, func(t *testing.T, z *suite.Ground) {
					s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
					m := zksync.NewMutex(s, p)
					a, b := m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
					a.Lock()
					node := firstNode(t, other, p).Node
					if !waiting {
						tt.ask(t, other, node)
					}
					got := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
					suite.AwaitWaiting(t, s, 1)
					if waiting {
						tt.ask(t, other, node)
					}
					a.Unlock()
					suite.Must(t, suite.Receive(t, got))
					time.Sleep(300 * time.Millisecond)
					suite.Eventually(t, "the node names the new holder", func() bool { return firstNode(t, other, p).OwnerName == tt.names })
					if n := firstNode(t, other, p); n.Node != node || !n.Revoked {
						t.Errorf("%+v", n)
					}
					b.Unlock()
				}, suite.Timeless)
			})
		}
	}
}

// Where the session may not write to its nodes, a node names an owner only if that owner
// keeps it to the end.
func TestNodeThatCannotBeRewritten(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		acl := zksync.WithACL(zk.ACL{Perms: zk.PermRead | zk.PermCreate | zk.PermDelete, Scheme: "world", ID: "anyone"})
		s, other := z.Dial(t, tracesNodes()), z.Dial(t)
		p := z.Path(t)
		m := zksync.NewMutex(s, p, acl)
		a, b := zksync.NewOwner("a"), zksync.NewOwner("b")
		one, tp := traced(1)
		two, _ := traced(2)
		suite.Must(t, m.As(a).LockContext(one))
		if n := firstNode(t, other, p); n.OwnerID != "" || n.TraceParent != "" || n.Identity == "" {
			t.Errorf("%+v", n)
		}
		got := suite.Async(func() error { return m.As(b).LockContext(two) })
		suite.AwaitWaiting(t, s, 1)
		suite.Must(t, m.As(a).UnlockContext(one))
		suite.Must(t, suite.Receive(t, got))
		time.Sleep(200 * time.Millisecond)
		if n := firstNode(t, other, p); n.OwnerID != "" || n.TraceParent != "" {
			t.Errorf("%+v", n)
		}
		m.Unlock()
		h, err := m.As(a).Hold(one)
		suite.Must(t, err)
		if n := firstNode(t, other, p); n.OwnerName != "a" || n.TraceParent != tp {
			t.Errorf("a Hold: %+v", n)
		}
		suite.Must(t, h.Release(suite.Context(t)))
	}, suite.Timeless)
}

// Giving back a part of a permit keeps the data that was written to the node.
func TestShrinkKeepsWhatTheNodeSays(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		p := z.UsedPath(t, s.Session) + "/s"
		sem := zksync.NewSemaphore(s.Session, p, 5)
		suite.Must(t, sem.Acquire(suite.Context(t), 5))
		s.Take(t)
		sem.Release(1)
		suite.Released(t, s.Session)
		s.Wants(t, "a part", suite.Ops{"multi": 1})
		n := firstNode(t, s.Session, p)
		if n.Weight != 4 || n.Identity == "" {
			t.Errorf("%+v", n)
		}
		_, err := z.Raw(t).Set(n.Node, []byte("__REVOKE__"), -1)
		suite.Must(t, err)
		s.Take(t)
		sem.Release(1)
		suite.Released(t, s.Session)
		s.Wants(t, "a part of a node that was written to", suite.Ops{"multi": 2, "getData": 1})
		if n := firstNode(t, s.Session, p); n.Weight != 3 || !n.Revoked {
			t.Errorf("%+v", n)
		}
		sem.Release(3)
	})
}

// A call that waits for permits learns that the one before has got in, even if that
// one's node has been written to before: nothing else is written over.
func TestTouchWritesOverNothing(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		a, b, c := z.Via(t, srv.Dial), z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		sem := func(s *zksync.Session) *zksync.Semaphore { return zksync.NewSemaphore(s, "/s", 2) }
		suite.Must(t, sem(a).Acquire(suite.Context(t), 2))
		second := suite.Async(func() error { return sem(b).Acquire(suite.Context(t), 1) })
		synctest.Wait()
		third := suite.Async(func() error { return sem(c).Acquire(suite.Context(t), 1) })
		synctest.Wait()
		node := suite.NodesOf(srv, b.ID())[0]
		_, err := a.Conn().Set(node, []byte("__REVOKE__"), -1)
		suite.Must(t, err)
		sem(a).Release(2)
		suite.Must(t, suite.Receive(t, second))
		suite.Must(t, suite.Receive(t, third))
		time.Sleep(time.Second)
		data, _, err := a.Conn().Get(node)
		suite.Must(t, err)
		if !strings.Contains(string(data), "REVOKE") {
			t.Errorf("the node says %q", data)
		}
		sem(b).Release(1)
		sem(c).Release(1)
	})
}

const kazooParts = 1 // for each node of a Multi, one more

// behindOneThatGivesUp has two owners wait for a lock, in virtual time, behind its
// holder. It returns the lock of the second one, and what its call returns. giveUp ends
// the first call, whose node then stands for the second one.
func behindOneThatGivesUp(t *testing.T, s *zksync.Session, p string) (l zksync.Locker, second <-chan error, giveUp func()) {
	m := zksync.NewMutex(s, p)
	ctx, cancel := context.WithCancel(t.Context())
	first := suite.Async(func() error { return m.As(zksync.NewOwner("a")).LockContext(ctx) })
	synctest.Wait()
	l = m.As(zksync.NewOwner("b"))
	second = suite.Async(func() error { return l.LockContext(context.Background()) })
	synctest.Wait()
	return l, second, func() {
		t.Helper()
		cancel()
		suite.IsError(t, suite.Receive(t, first), context.Canceled)
	}
}

// A rewrite that finds no node has found a loss.
func TestRewriteFindsALoss(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		holder, s := z.Via(t, srv.Dial), z.Via(t, srv.Dial, zksync.WithLogger(slog.New(slog.DiscardHandler)))
		h, err := zksync.NewMutex(holder, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		l, second, giveUp := behindOneThatGivesUp(t, s, "/l")
		node := suite.NodesOf(srv, s.ID())[0]
		giveUp()
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Must(t, suite.Receive(t, second))
		suite.Must(t, holder.Break(suite.Context(t), node))
		time.Sleep(wrongFor)
		if n := s.Stats().Losses; n != 1 {
			t.Errorf("%d losses noticed, want 1", n)
		}
		suite.IsError(t, l.UnlockContext(suite.Context(t)), zksync.ErrLost)
	})
}
