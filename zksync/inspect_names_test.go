package zksync_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
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
func firstNode(t testing.TB, s *zksync.Session, p string) zksync.LockNode {
	t.Helper()
	q, err := s.Inspect(suite.Context(t), p)
	suite.Must(t, err)
	if len(q.Nodes) == 0 {
		t.Fatalf("nobody in line at %s", p)
	}
	return q.Nodes[0]
}

// nodeBehind is the path of the second in line at p.
func nodeBehind(t testing.TB, s *zksync.Session, p string) string {
	t.Helper()
	q, err := s.Inspect(suite.Context(t), p)
	suite.Must(t, err)
	if len(q.Nodes) < 2 {
		t.Fatalf("%d in line at %s", len(q.Nodes), p)
	}
	return q.Nodes[1].Node
}

func TestNodeNamesWhoHoldsAfterAHandOver(t *testing.T) {
	suite.Beside(t)
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		const p, owners = "/l", 4
		s, other := z.Via(t, srv.Dial, tracesNodes()), z.Via(t, srv.Dial)
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
						suite.Must(t, m.As(o).LockContext(ctx))
						mu.Lock()
						holder, trace, since = o.Name(), tp, time.Now()
						mu.Unlock()
						time.Sleep(hold)
						suite.Must(t, m.As(o).UnlockContext(ctx))
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
					q, err := other.Inspect(suite.Context(t), p)
					suite.Must(t, err)
					mu.Lock()
					if held := time.Since(since); len(q.Nodes) == 1 && held > wrongFor {
						n := q.Nodes[0]
						if n.OwnerName != "" && n.OwnerName != holder || n.TraceParent != "" && n.TraceParent != trace {
							t.Errorf("holding for %v: the node names %q, %q; %q, %q holds", held, n.OwnerName, n.TraceParent, holder, trace)
						}
						if held > 2*wrongFor && (n.OwnerName != holder || n.TraceParent != trace) {
							t.Errorf("holding for %v: the node names %q, %q; %q, %q holds", held, n.OwnerName, n.TraceParent, holder, trace)
						}
						if n.Node != node {
							node, changed = n.Node, changed+1
						}
					}
					mu.Unlock()
				}
			}
			if hold >= time.Second && changed > owners {
				t.Errorf("%d nodes: nothing was handed over", changed)
			}
			suite.AtRest(t, s)
		}
	})
}

// A lock that changes hands fast is rewritten once, and then named no more.
func TestFastHandOversAreNotWritten(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		m := zksync.NewMutex(s.Session, z.UsedPath(t, s.Session), zksync.WithHandoff(1<<30))
		m.Lock()
		s.Take(t)
		const enough = 20 // hand-overs, which a busy machine has not always made after a second
		var (
			all  sync.WaitGroup
			long int       // guarded by m; holds that a busy machine made longer than a name may be wrong
			last time.Time // guarded by m
		)
		for i := range 4 {
			l := m.As(zksync.NewOwner(fmt.Sprint(i)))
			all.Go(func() {
				for start := time.Now(); time.Since(start) < time.Second || time.Since(start) < time.Minute && s.Stats().Handoffs < enough; {
					l.Lock()
					time.Sleep(time.Millisecond)
					if now := time.Now(); now.Sub(last) > 90*time.Millisecond {
						long, last = long+1, now
					} else {
						last = now
					}
					l.Unlock()
				}
			})
		}
		suite.AwaitWaiting(t, s.Session, 4)
		last = time.Now()
		m.Unlock()
		all.Wait()
		got := s.Take(t)
		if n := got["setData"]; n > 3+long { // one is due
			t.Errorf("%d rewrites while the lock changed hands, want 1; %d holds were long: %v", n, long, got)
		}
		if n := s.Stats().Handoffs; n < enough {
			t.Errorf("%d hand-overs", n)
		}
	})
}

func TestRequestsOfARewrite(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, next := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, s.Session)
		m := zksync.NewMutex(s.Session, p)
		a, b := m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
		a.Lock()
		got := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s.Session, 1)
		suite.Eventually(t, "the node is watched", func() bool { return s.Looks.Load() == 1 })
		s.Take(t)
		next.Take(t)
		third := suite.CallInLine(t, next, p, suite.LockContext)
		a.Unlock()
		suite.Must(t, suite.Receive(t, got))
		suite.Eventually(t, "the node names the new holder", func() bool { return firstNode(t, next.Session, p).OwnerName == "b" })
		suite.Eventually(t, "the node is watched again", func() bool { return s.Looks.Load() == 1 })
		s.Wants(t, "the holder's rewrite", suite.Ops{"setData": 1, "getData": 1})
		time.Sleep(150 * time.Millisecond)
		s.Wants(t, "later", suite.Ops{})
		next.Take(t)
		b.Unlock()
		free := third.Held(t)
		next.Wants(t, "next in line, behind a node that was rewritten", suite.Ops{})
		suite.Must(t, free())
	})
}

// A call that waits behind a node that is rewritten reads it once. It does not list the
// line again, and still knows that it is next.
func TestRequestsBehindARewrite(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, next := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, s.Session)
		m := zksync.NewMutex(s.Session, p)
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		next.Take(t)
		b := suite.CallInLine(t, next, p, suite.LockContext)
		for i := range 3 {
			_, err := s.Conn().Set(h.Node(), fmt.Appendf(nil, `{"v":1,"id":"%d"}`, i), -1)
			suite.Must(t, err)
			suite.Eventually(t, "the event is heard", func() bool { return next.Looks.Load() == 1 })
			next.Wants(t, "the blocker says something new", suite.Ops{"getData": 1})
		}
		own := nodeBehind(t, s.Session, p)
		_, err = z.Raw(t).Set(own, []byte("x"), -1)
		suite.Must(t, err)
		suite.Eventually(t, "the event is heard", func() bool { return next.Looks.Load() == 1 })
		next.Wants(t, "the own node says something new", suite.Ops{"getData": 1})
		suite.Must(t, h.Release(suite.Context(t)))
		free := b.Held(t)
		next.Wants(t, "the turn", suite.Ops{})
		suite.Must(t, free())
	})
}

// A call that gives up leaves its place in line to the next one here, with a
// node that names it.
func TestNodeInLineNamesWhoWaits(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		holder, s := z.Dial(t), z.Dial(t, tracesNodes())
		p := z.Path(t)
		h, err := zksync.NewMutex(holder, p).Hold(suite.Context(t))
		suite.Must(t, err)
		m, raw := zksync.NewMutex(s, p), z.Raw(t)
		ctx, cancel := context.WithCancel(suite.Context(t))
		first := suite.Async(func() error { return m.As(zksync.NewOwner("first")).LockContext(ctx) })
		suite.InLine(t, raw, p, 2)
		two, tp := traced(2)
		second := suite.Async(func() error { return m.As(zksync.NewOwner("second")).LockContext(two) })
		suite.AwaitWaiting(t, s, 2)
		node := nodeBehind(t, holder, p)
		cancel()
		suite.IsError(t, suite.Receive(t, first), context.Canceled)
		suite.Eventually(t, "the node names who waits now", func() bool {
			q, err := holder.Inspect(suite.Context(t), p)
			suite.Must(t, err)
			n := q.Nodes[1]
			return n.Node == node && n.OwnerName == "second" && n.TraceParent == tp
		})
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Must(t, suite.Receive(t, second))
		m.Unlock()
	}, suite.Timeless)
}

// All nodes of several locks, and the one for kazoo, say the same.
func TestEveryNodeIsRenamed(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		holder, s := z.Dial(t), z.Dial(t)
		p := z.Path(t)
		block := zksync.NewMutex(holder, p+"/b")
		block.Lock()
		l := zksync.NewMulti(zksync.NewMutex(s, p+"/a", zksync.WithKazooName()), zksync.NewMutex(s, p+"/b", zksync.WithKazooName()))
		ctx, cancel := context.WithCancel(suite.Context(t))
		first := suite.Async(func() error { return l.As(zksync.NewOwner("first")).LockContext(ctx) })
		suite.InLine(t, z.Raw(t), p+"/a", 1+kazooParts)
		second := suite.Async(func() error { return l.As(zksync.NewOwner("second")).LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 2)
		cancel()
		suite.IsError(t, suite.Receive(t, first), context.Canceled)
		suite.Eventually(t, "all nodes name who waits now", func() bool {
			named := 0
			for _, q := range []string{"/a", "/b"} {
				q, err := holder.Inspect(suite.Context(t), p+q)
				suite.Must(t, err)
				for _, n := range q.Nodes {
					if n.OwnerName == "second" {
						named++
					}
				}
			}
			return named == 2+2*kazooParts
		})
		block.Unlock()
		suite.Must(t, suite.Receive(t, second))
		l.Unlock()
	})
}
