package zksync_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A node says who holds the lock. It outlives the call that it was made for, so
// it has to be rewritten; a name is wrong for 100 ms and one write at most.

// wrongFor is how long a name may be wrong on a network without delay.
const wrongFor = 100*time.Millisecond + time.Millisecond

// traceKey carries a traceparent in the contexts of these tests.
type traceKey struct{}

// traced is a context in a trace of its own, and the traceparent of it.
func traced(n int) (context.Context, string) {
	tp := fmt.Sprintf("00-%032x-%016x-01", 0xa0+n, 0xb0+n)
	return context.WithValue(context.Background(), traceKey{}, tp), tp
}

// tracesNodes has nodes carry the traceparent of the call's context.
func tracesNodes() zksync.Option {
	return zksync.WithTracer(&zksync.Tracer{Parent: func(ctx context.Context) string {
		tp, _ := ctx.Value(traceKey{}).(string)
		return tp
	}})
}

// firstNode is the first in line at p, as a session that is nobody sees it.
func firstNode(t testing.TB, s *zksync.Session, p string) zksync.Node {
	t.Helper()
	q, err := s.Inspect(short(t), p)
	ok(t, err)
	if len(q.Nodes) == 0 {
		t.Fatalf("nobody in line at %s", p)
	}
	return q.Nodes[0]
}

// nodeBehind is the path of the second in line at p.
func nodeBehind(t testing.TB, s *zksync.Session, p string) string {
	t.Helper()
	q, err := s.Inspect(short(t), p)
	ok(t, err)
	if len(q.Nodes) < 2 {
		t.Fatalf("%d in line at %s", len(q.Nodes), p)
	}
	return q.Nodes[1].Path
}

func TestNodeNamesWhoHoldsAfterAHandOver(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		const p, owners = "/l", 4
		s, other := via(t, srv.Dial, tracesNodes()), via(t, srv.Dial)
		m := zksync.NewMutex(s, p)
		for _, hold := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 150 * time.Millisecond, time.Second} {
			var mu sync.Mutex
			var holder, trace string
			var since time.Time
			var all sync.WaitGroup
			node := ""
			for i := range owners {
				o := zksync.NewOwner(fmt.Sprint("owner-", i))
				ctx, tp := traced(i)
				all.Go(func() {
					for range 20 {
						ok(t, m.As(o).LockContext(ctx))
						mu.Lock()
						holder, trace, since = o.Label(), tp, time.Now()
						mu.Unlock()
						time.Sleep(hold)
						ok(t, m.As(o).UnlockContext(ctx))
					}
				})
			}
			over, changed := make(chan struct{}), 0
			go func() { all.Wait(); close(over) }()
			for looking := true; looking; {
				select {
				case <-over:
					looking = false
				case <-time.After(7 * time.Millisecond):
					q, err := other.Inspect(short(t), p)
					ok(t, err)
					mu.Lock()
					if held := time.Since(since); len(q.Nodes) == 1 && held > wrongFor {
						n := q.Nodes[0]
						if n.OwnerName != "" && n.OwnerName != holder || n.TraceParent != "" && n.TraceParent != trace {
							t.Errorf("holding for %v: the node names %q, %q; %q, %q holds", held, n.OwnerName, n.TraceParent, holder, trace)
						}
						if held > 2*wrongFor && (n.OwnerName != holder || n.TraceParent != trace) {
							t.Errorf("holding for %v: the node names %q, %q; %q, %q holds", held, n.OwnerName, n.TraceParent, holder, trace)
						}
						if n.Name != node {
							node, changed = n.Name, changed+1
						}
					}
					mu.Unlock()
				}
			}
			if hold >= time.Second && changed > owners {
				t.Errorf("%d nodes: nothing was handed over", changed)
			}
			atRest(t, s)
		}
	})
}

// A lock that changes hands fast is rewritten once, and then named no more.
func TestFastHandOversAreNotWritten(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, usedPath(t, s.Session), zksync.WithHandoff(1<<30))
		m.Lock()
		s.take(t)
		var all sync.WaitGroup
		for i := range 4 {
			l := m.As(zksync.NewOwner(fmt.Sprint(i)))
			all.Go(func() {
				for start := time.Now(); time.Since(start) < time.Second; {
					l.Lock()
					time.Sleep(time.Millisecond)
					l.Unlock()
				}
			})
		}
		waiting(t, s.Session, 4)
		m.Unlock()
		all.Wait()
		got := s.take(t)
		if n := got["setData"]; n > 3 { // one is due; a pause of the machine may look like a long hold
			t.Errorf("%d rewrites in a second of hand-overs, want 1: %v", n, got)
		}
		if s.Stats().Handoffs < 50 {
			t.Errorf("%d hand-overs", s.Stats().Handoffs)
		}
	})
}

func TestRequestsOfARewrite(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, next := z.counted(t), z.counted(t)
		p := usedPath(t, s.Session)
		m := zksync.NewMutex(s.Session, p)
		a, b := m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
		a.Lock()
		got := async(func() error { return b.LockContext(short(t)) })
		waiting(t, s.Session, 1)
		eventually(t, "the node is watched", func() bool { return s.p.Requests()["getData"] == 1 })
		s.take(t)
		next.take(t)
		third := callInLine(t, next, p, lockWays["LockContext"])
		a.Unlock()
		ok(t, get(t, got))
		eventually(t, "the node names the new holder", func() bool { return firstNode(t, next.Session, p).OwnerName == "b" })
		eventually(t, "the node is watched again", func() bool { return s.p.Requests()["getData"] == 1 })
		s.wants(t, "the holder's rewrite", ops{"setData": 1, "getData": 1})
		time.Sleep(150 * time.Millisecond)
		s.wants(t, "later", ops{})
		next.take(t)
		b.Unlock()
		free := third.held(t)
		next.wants(t, "next in line, behind a node that was rewritten", ops{})
		ok(t, free())
	})
}

// Who waits behind a node that is rewritten reads it once, and neither lists nor
// forgets that it is next.
func TestRequestsBehindARewrite(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, next := z.counted(t), z.counted(t)
		p := usedPath(t, s.Session)
		m := zksync.NewMutex(s.Session, p)
		h, err := m.Hold(short(t))
		ok(t, err)
		next.take(t)
		b := callInLine(t, next, p, lockWays["LockContext"])
		for i := range 3 {
			_, err := s.Conn().Set(h.Node(), fmt.Appendf(nil, `{"v":1,"id":"%d"}`, i), -1)
			ok(t, err)
			eventually(t, "the event is heard", func() bool { return next.p.Requests()["getData"] == 1 })
			next.wants(t, "the blocker says something new", ops{"getData": 1})
		}
		own := nodeBehind(t, s.Session, p)
		_, err = z.raw(t).Set(own, []byte("x"), -1)
		ok(t, err)
		eventually(t, "the event is heard", func() bool { return next.p.Requests()["getData"] == 1 })
		next.wants(t, "the own node says something new", ops{"getData": 1})
		ok(t, h.Release(short(t)))
		free := b.held(t)
		next.wants(t, "the turn", ops{})
		ok(t, free())
	})
}

// A call that gives up leaves its place in line to the next one here, with a
// node that names it.
func TestNodeInLineNamesWhoWaits(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		holder, s := z.dial(t), z.dial(t, tracesNodes())
		p := lockPath(t)
		h, err := zksync.NewMutex(holder, p).Hold(short(t))
		ok(t, err)
		m, raw := zksync.NewMutex(s, p), z.raw(t)
		ctx, cancel := context.WithCancel(short(t))
		first := async(func() error { return m.As(zksync.NewOwner("first")).LockContext(ctx) })
		lineOf(t, raw, p, 2)
		two, tp := traced(2)
		second := async(func() error { return m.As(zksync.NewOwner("second")).LockContext(two) })
		waiting(t, s, 2)
		node := nodeBehind(t, holder, p)
		cancel()
		isError(t, get(t, first), context.Canceled)
		eventually(t, "the node names who waits now", func() bool {
			q, err := holder.Inspect(short(t), p)
			ok(t, err)
			n := q.Nodes[1]
			return n.Path == node && n.OwnerName == "second" && n.TraceParent == tp
		})
		ok(t, h.Release(short(t)))
		ok(t, get(t, second))
		m.Unlock()
	})
}

// All nodes of several locks, and the one for kazoo, say the same.
func TestEveryNodeIsRenamed(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		holder, s := z.dial(t), z.dial(t)
		p := lockPath(t)
		block := zksync.NewMutex(holder, p+"/b")
		block.Lock()
		l := zksync.NewMulti(zksync.NewMutex(s, p+"/a", zksync.WithKazooQueue()), zksync.NewMutex(s, p+"/b", zksync.WithKazooQueue()))
		ctx, cancel := context.WithCancel(short(t))
		first := async(func() error { return l.As(zksync.NewOwner("first")).LockContext(ctx) })
		lineOf(t, z.raw(t), p+"/a", 1+kazooParts)
		second := async(func() error { return l.As(zksync.NewOwner("second")).LockContext(short(t)) })
		waiting(t, s, 2)
		cancel()
		isError(t, get(t, first), context.Canceled)
		eventually(t, "all nodes name who waits now", func() bool {
			named := 0
			for _, q := range []string{"/a", "/b"} {
				q, err := holder.Inspect(short(t), p+q)
				ok(t, err)
				for _, n := range q.Nodes {
					if n.OwnerName == "second" {
						named++
					}
				}
			}
			return named == 2+2*kazooParts
		})
		block.Unlock()
		ok(t, get(t, second))
		l.Unlock()
	})
}

// Readers on one node have no owner. The node carries the trace of one who still
// reads, as long as it is certain who does.
func TestSharedNodeCarriesALiveTrace(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s, other := via(t, srv.Dial, tracesNodes()), via(t, srv.Dial)
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
			ok(t, rw.RLockContext(ctx[i]))
		}
		shows("three read", tp[0])
		ok(t, rw.RUnlockContext(ctx[1]))
		shows("the second has left", tp[0])
		ok(t, rw.RUnlockContext(ctx[0]))
		shows("the first has left, too", tp[2])
		ok(t, rw.RLockContext(ctx[3]))
		rw.RUnlock()
		shows("one of two has left", "")
		ok(t, rw.RLockContext(ctx[1]))
		shows("one has come since", tp[1])
		rw.RUnlock()
		rw.RUnlock()
	})
}

// A request to give the lock back stays where it was written.
func TestRewriteKeepsARevocation(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, other := z.dial(t), z.dial(t)
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		a, b := m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
		a.Lock()
		got := async(func() error { return b.LockContext(short(t)) })
		waiting(t, s, 1)
		n := firstNode(t, other, p)
		_, err := other.Conn().Set(n.Path, []byte("__REVOKE__"), -1)
		ok(t, err)
		a.Unlock()
		ok(t, get(t, got))
		time.Sleep(300 * time.Millisecond)
		if n := firstNode(t, other, p); !n.Revoked {
			t.Errorf("the node says %+v", n)
		}
		b.Unlock()
	})
}

// Where the session may not write to its nodes they name nobody but who keeps
// them to the end.
func TestNodeThatCannotBeRewritten(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		acl := zksync.WithACL(zk.ACL{Perms: zk.PermRead | zk.PermCreate | zk.PermDelete, Scheme: "world", ID: "anyone"})
		s, other := z.dial(t, tracesNodes()), z.dial(t)
		p := lockPath(t)
		m := zksync.NewMutex(s, p, acl)
		a, b := zksync.NewOwner("a"), zksync.NewOwner("b")
		one, tp := traced(1)
		two, _ := traced(2)
		ok(t, m.As(a).LockContext(one))
		if n := firstNode(t, other, p); n.OwnerID != "" || n.TraceParent != "" || n.Identity == "" {
			t.Errorf("%+v", n)
		}
		got := async(func() error { return m.As(b).LockContext(two) })
		waiting(t, s, 1)
		ok(t, m.As(a).UnlockContext(one))
		ok(t, get(t, got))
		time.Sleep(200 * time.Millisecond)
		if n := firstNode(t, other, p); n.OwnerID != "" || n.TraceParent != "" {
			t.Errorf("%+v", n)
		}
		m.Unlock()
		h, err := m.As(a).Hold(one)
		ok(t, err)
		if n := firstNode(t, other, p); n.OwnerName != "a" || n.TraceParent != tp {
			t.Errorf("a Hold: %+v", n)
		}
		ok(t, h.Release(short(t)))
	})
}

// A part of a permit is given back without a word lost that was written to it.
func TestShrinkKeepsWhatTheNodeSays(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		p := usedPath(t, s.Session) + "/s"
		sem := zksync.NewSemaphore(s.Session, p, 5)
		ok(t, sem.Acquire(short(t), 5))
		s.take(t)
		sem.Release(1)
		s.wants(t, "a part", ops{"multi": 1})
		n := firstNode(t, s.Session, p)
		if n.Weight != 4 || n.Identity == "" {
			t.Errorf("%+v", n)
		}
		_, err := z.raw(t).Set(n.Path, []byte("__REVOKE__"), -1)
		ok(t, err)
		s.take(t)
		sem.Release(1)
		s.wants(t, "a part of a node that was written to", ops{"multi": 2, "getData": 1})
		if n := firstNode(t, s.Session, p); n.Weight != 3 || !n.Revoked {
			t.Errorf("%+v", n)
		}
		sem.Release(3)
	})
}

// Who waits for permits is told that the one before has got in, even if that
// one's node has been written to before: nothing else is written over.
func TestTouchWritesOverNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := via(t, srv.Dial), via(t, srv.Dial), via(t, srv.Dial)
		sem := func(s *zksync.Session) *zksync.Semaphore { return zksync.NewSemaphore(s, "/s", 2) }
		ok(t, sem(a).Acquire(short(t), 2))
		second := async(func() error { return sem(b).Acquire(short(t), 1) })
		synctest.Wait()
		third := async(func() error { return sem(c).Acquire(short(t), 1) })
		synctest.Wait()
		node := nodesOf(srv, b.ID())[0]
		_, err := a.Conn().Set(node, []byte("__REVOKE__"), -1)
		ok(t, err)
		sem(a).Release(2)
		ok(t, get(t, second))
		ok(t, get(t, third))
		time.Sleep(time.Second)
		data, _, err := a.Conn().Get(node)
		ok(t, err)
		if !strings.Contains(string(data), "REVOKE") {
			t.Errorf("the node says %q", data)
		}
		sem(b).Release(1)
		sem(c).Release(1)
	})
}

const kazooParts = 1 // for each node of a Multi, one more

// A rewrite that finds no node has found a loss.
func TestRewriteFindsALoss(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		holder, s := via(t, srv.Dial), via(t, srv.Dial, zksync.WithLogger(slog.New(slog.DiscardHandler)))
		h, err := zksync.NewMutex(holder, "/l").Hold(short(t))
		ok(t, err)
		m := zksync.NewMutex(s, "/l")
		ctx, cancel := context.WithCancel(short(t))
		first := async(func() error { return m.As(zksync.NewOwner("first")).LockContext(ctx) })
		synctest.Wait()
		second := async(func() error { return m.As(zksync.NewOwner("second")).LockContext(short(t)) })
		synctest.Wait()
		node := nodesOf(srv, s.ID())[0]
		cancel()
		isError(t, get(t, first), context.Canceled)
		ok(t, h.Release(short(t)))
		ok(t, get(t, second))
		ok(t, holder.Break(short(t), node))
		time.Sleep(wrongFor)
		if n := s.Stats().Losses; n != 1 {
			t.Errorf("%d losses noticed, want 1", n)
		}
		isError(t, m.UnlockContext(short(t)), zksync.ErrLost)
	})
}
