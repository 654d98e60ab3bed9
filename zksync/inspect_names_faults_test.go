package zksync_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Faults during the rewrite of a node's data.

// The entry of a waiting call stands in line again, with another node, while the answer
// to a rewrite of the old node is missing. The failure of that rewrite is no loss.
func TestLateRewriteIsNoLoss(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		held := zksync.NewMutex(other, "/l")
		held.Lock()
		b, second, giveUp := behindOneThatGivesUp(t, s, "/l")
		var lost atomic.Int32
		srv.DropReply(func(r zktest.Request) bool { return r.Op == "setData" && lost.Add(1) > 0 })
		giveUp()
		for lost.Load() < 6 { // so many tries make pauses long
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * time.Millisecond)
		srv.Expire(s.ID())
		held.Unlock()
		suite.Must(t, suite.Receive(t, second))
		time.Sleep(5 * time.Second)
		srv.DropReply(nil)
		if n := s.Stats().Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
		if held.TryLock() {
			t.Error("another session has got the lock beside the holder")
			held.Unlock()
		}
		suite.Must(t, b.UnlockContext(suite.Context(t)))
	})
}

// Blocked names a reader that still reads to a call that waits for readers of its own
// session.
func TestLocalPeerIsAReaderWhoReads(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		var mu sync.Mutex
		var traces []string
		s := z.Via(t, srv.Dial, zksync.WithTracer(&zksync.Tracer{
			Parent: func(ctx context.Context) string { tp, _ := ctx.Value(traceKey{}).(string); return tp },
			Blocked: func(_ context.Context, p zksync.Peer) {
				mu.Lock()
				defer mu.Unlock()
				traces = append(traces, p.TraceParent)
			},
		}))
		rw := zksync.NewRWMutex(s, "/l")
		one, gone := traced(1)
		two, stays := traced(2)
		suite.Must(t, rw.RLockContext(one))
		suite.Must(t, rw.RLockContext(two))
		suite.Must(t, rw.RUnlockContext(one))
		time.Sleep(wrongFor)
		got := suite.Async(func() error { return rw.LockContext(suite.Context(t)) })
		time.Sleep(time.Second)
		mu.Lock()
		if all := strings.Join(traces, " "); strings.Contains(all, gone) || !strings.Contains(all, stays) {
			t.Errorf("told of %q, want %q and not %q", all, stays, gone)
		}
		mu.Unlock()
		suite.Must(t, rw.RUnlockContext(two))
		suite.Must(t, suite.Receive(t, got))
		rw.Unlock()
	})
}

// A slow Parent function of the tracer does not delay the report of a loss.
func TestSlowParentDelaysNoLoss(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial, zksync.WithTracer(&zksync.Tracer{Parent: func(ctx context.Context) string {
			if ctx.Value(traceKey{}) != nil {
				time.Sleep(time.Hour)
			}
			return ""
		}}))
		m := zksync.NewMutex(s, "/l")
		h, err := m.Hold(context.Background())
		suite.Must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		slow, _ := traced(1)
		waits := suite.Async(func() error { <-ctx.Done(); return nil })
		go func() {
			if err := m.LockContext(slow); err == nil {
				m.Unlock()
			}
		}()
		synctest.Wait()
		start := time.Now()
		srv.Expire(s.ID())
		<-h.Context(context.Background()).Done()
		if took := time.Since(start); took > suite.VirtualTimeout {
			t.Errorf("the loss was told after %v", took)
		}
		cancel()
		suite.Must(t, suite.Receive(t, waits))
		time.Sleep(time.Hour)
	})
}

// The node is deleted just behind the rewrite, before it is watched again.
func TestLossBehindARewriteIsFound(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		m := zksync.NewMutex(s, "/l")
		a, b := m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
		a.Lock()
		node := suite.NodesOf(srv, s.ID())[0]
		got := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
		time.Sleep(50 * time.Millisecond)
		a.Unlock()
		suite.Must(t, suite.Receive(t, got))
		srv.Delay(20 * time.Millisecond)
		for {
			time.Sleep(time.Millisecond)
			if data, _, _ := srv.Get(node); strings.Contains(string(data), `"b"`) {
				break
			}
		}
		broken := suite.Async(func() error { return other.Break(suite.Context(t), node) })
		time.Sleep(time.Second)
		suite.Must(t, suite.Receive(t, broken))
		srv.Delay(0)
		if n := s.Stats().Losses; n != 1 {
			t.Errorf("%d losses noticed, want 1", n)
		}
		suite.IsError(t, b.UnlockContext(suite.Context(t)), zksync.ErrLost)
	})
}

// On a program's own client, too, the lock is handed over without a request after
// its node was rewritten, but for the read that watches the node again.
func TestHandOverAfterARewriteOnAProgramsClient(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		own := *z
		p := z.Proxied(t)
		own.Servers, own.Adapted = []string{p.Addr()}, true
		s := own.Dial(t)
		m := zksync.NewMutex(s, z.UsedPath(t, s), zksync.WithHandoff(1000))
		a, b := m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
		a.Lock()
		next := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 1)
		suite.Eventually(t, "the node is watched", func() bool { return p.Requests()["getData"] > 0 })
		a.Unlock()
		suite.Must(t, suite.Receive(t, next))
		suite.Eventually(t, "the node is rewritten", func() bool { return p.Requests()["setData"] == 1 })
		time.Sleep(50 * time.Millisecond)
		before := p.Requests()
		for i := range 20 {
			next := suite.Async(func() error { return a.LockContext(suite.Context(t)) })
			suite.AwaitWaiting(t, s, 1)
			b.Unlock()
			suite.Must(t, suite.Receive(t, next))
			a, b = b, a
			if i == 0 {
				before = p.Requests() // which watched the node again, perhaps
			}
		}
		after := p.Requests()
		if reads := after["getData"] - before["getData"]; reads > 3 { // a slow machine has the name rewritten on the way
			t.Errorf("%d reads for 19 hand-overs", reads)
		}
		if s.Stats().Handoffs < 20 {
			t.Error(fmt.Sprint(s.Stats()))
		}
		b.Unlock()
	})
}
