package zksync_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// handoff is the default of WithHandoff.
const handoff = 16

func TestReadersShareANode(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, raw := z.Counted(t), z.Raw(t)
		p := z.UsedPath(t, s.Session)
		rw := zksync.NewRWMutex(s.Session, p)
		suite.LockAndUnlock(t, rw) // the second use, from which on the path is watched
		s.Take(t)
		rw.RLock()
		s.Wants(t, "the first reader", suite.Ops{"create": 1})
		node := suite.NodeOf(t, raw, p, s.Session)
		rw.RLock()
		s.Wants(t, "the second", suite.Ops{"getData": 1}) // the node has to be watched
		for i := 3; i <= handoff+1; i++ {
			suite.Must(t, rw.RLockContext(suite.Context(t)))
			s.Wants(t, fmt.Sprint("reader ", i), suite.Ops{})
		}
		if got := suite.NodeOf(t, raw, p, s.Session); got != node {
			t.Errorf("node %s, was %s", got, node)
		}
		rw.RLock()
		s.Wants(t, "the budget is used up", suite.Ops{"create": 1})
		suite.InLine(t, raw, p, 2)
		rw.RLock()
		s.Wants(t, "on the second node", suite.Ops{"getData": 1})
		for range handoff + 2 {
			rw.RUnlock()
		}
		s.Wants(t, "all but one RUnlock", suite.Ops{"delete": 1})
		suite.InLine(t, raw, p, 1)
		rw.RUnlock()
		s.Wants(t, "the last RUnlock", suite.Ops{"delete": 1})
		if n := s.Stats().Handoffs; n != handoff+1 {
			t.Errorf("%d hand-overs counted", n)
		}
		suite.Panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
	})
}

// Readers who queued behind a writer stand in line once, and get in together.
func TestReadersQueueOnce(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, raw := z.Counted(t), z.Raw(t)
		other := z.Dial(t)
		p := z.UsedPath(t, s.Session)
		w := zksync.NewRWMutex(other, p)
		w.Lock()
		rw := zksync.NewRWMutex(s.Session, p)
		s.Take(t)
		const n = 5
		var all []<-chan error
		for range n {
			all = append(all, suite.Async(func() error { return rw.RLockContext(suite.Context(t)) }))
		}
		suite.AwaitWaiting(t, s.Session, n)
		s.Stands(t)
		suite.InLine(t, raw, p, 2)
		w.Unlock()
		for _, r := range all {
			suite.Must(t, suite.Receive(t, r))
		}
		s.Wants(t, "five readers get in", suite.Ops{"getChildren2": 1})
		if e := s.Events.Load(); e != 1 {
			t.Errorf("%d watch events", e)
		}
		for range n {
			suite.Must(t, rw.RUnlockContext(suite.Context(t)))
		}
		s.Wants(t, "and leave", suite.Ops{"delete": 1})
	})
}

// Each call that can be distinguished has a node of its own: handles, owners, tries, and
// those of a strict lock.
func TestReadersWhoDontShare(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, raw := suite.Context(t), z.Dial(t), z.Raw(t)
		p := z.Path(t)
		rw, strict := zksync.NewRWMutex(s, p), zksync.NewRWMutex(s, p, zksync.WithHandoff(0))
		rw.RLock()
		nodes := 1
		var back []func(context.Context) error
		fences := make(map[int64]bool)
		own := func(what string, release func(context.Context) error, err error) {
			t.Helper()
			suite.Must(t, err)
			back = append(back, release)
			nodes++
			if n := len(suite.Children(t, raw, p)); n != nodes {
				t.Errorf("%s: %d nodes, want %d", what, n, nodes)
			}
		}
		for range 2 {
			own("strict", strict.RUnlockContext, strict.RLockContext(ctx))
			if !rw.TryRLock() {
				t.Fatal("TryRLock beside readers")
			}
			own("TryRLock", rw.RUnlockContext, nil)
			l := rw.RLocker().As(zksync.NewOwner("o"))
			own("owner", l.UnlockContext, l.LockContext(ctx))
			h, err := rw.RLocker().Hold(ctx)
			suite.Must(t, err)
			own("Hold", h.Release, nil)
			if fences[h.Fence()] || h.Fence() == 0 {
				t.Errorf("fence %d again", h.Fence())
			}
			fences[h.Fence()] = true
		}
		rw.RLock() // shares, beside all of them
		if n := len(suite.Children(t, raw, p)); n != nodes {
			t.Errorf("%d nodes, want %d", n, nodes)
		}
		rw.RUnlock()
		for _, f := range back {
			suite.Must(t, f(ctx))
		}
		rw.RUnlock()
		suite.InLine(t, raw, p, 0)

		// In line, too.
		w := zksync.NewRWMutex(z.Dial(t), p)
		w.Lock()
		var reads []<-chan error
		for i := range 3 {
			reads = append(reads, suite.Async(func() error { return strict.RLockContext(ctx) }))
			suite.InLine(t, raw, p, i+2)
		}
		w.Unlock()
		for _, r := range reads {
			suite.Must(t, suite.Receive(t, r))
		}
		for range reads {
			strict.RUnlock()
		}
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Readers don't join a node when a writer of the process waits; and when the
// budget is used up and a writer of another session does, they stand behind it.
func TestReadersStopJoining(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, other, raw := suite.Context(t), z.Dial(t), z.Dial(t), z.Raw(t)
		t.Run("for a writer next door", func(t *testing.T) {
			p := z.Path(t)
			rw := zksync.NewRWMutex(s, p)
			rw.RLock()
			rw.RLock() // so that the node is fit for more
			writer := suite.Async(func() error { return rw.LockContext(ctx) })
			suite.InLine(t, raw, p, 2)
			reader := suite.Async(func() error { return rw.RLockContext(ctx) })
			suite.AwaitWaiting(t, s, 2)
			suite.NotYet(t, reader)
			rw.RUnlock()
			suite.NotYet(t, reader)
			if rw.TryRLock() {
				t.Error("TryRLock past a waiting writer")
			}
			rw.RUnlock()
			suite.Must(t, suite.Receive(t, writer))
			suite.NotYet(t, reader)
			rw.Unlock()
			suite.Must(t, suite.Receive(t, reader))
			rw.RUnlock()
			suite.AtRest(t, s)
			z.Empty(t, p)
		})
		t.Run("for a writer elsewhere", func(t *testing.T) {
			p := z.Path(t)
			const budget = 3
			rw := zksync.NewRWMutex(s, p, zksync.WithHandoff(budget))
			rw.RLock()
			writer := suite.Async(func() error { return zksync.NewRWMutex(other, p).LockContext(ctx) })
			suite.InLine(t, raw, p, 2)
			for range budget { // they join, nobody here knows of the writer
				suite.Must(t, rw.RLockContext(ctx))
			}
			late := suite.Async(func() error { return rw.RLockContext(ctx) })
			suite.InLine(t, raw, p, 3)
			suite.NotYet(t, late)
			for range budget + 1 {
				rw.RUnlock()
			}
			suite.Must(t, suite.Receive(t, writer))
			suite.NotYet(t, late)
			zksync.NewRWMutex(other, p).Unlock()
			suite.Must(t, suite.Receive(t, late))
			rw.RUnlock()
			suite.AtRest(t, s)
			z.Empty(t, p)
		})
		t.Run("a writer that gives up", func(t *testing.T) {
			p := z.Path(t)
			rw := zksync.NewRWMutex(s, p)
			rw.RLock()
			gone, cancel := context.WithCancel(ctx)
			writer := suite.Async(func() error { return rw.LockContext(gone) })
			suite.InLine(t, raw, p, 2)
			reader := suite.Async(func() error { return rw.RLockContext(ctx) })
			suite.AwaitWaiting(t, s, 2)
			cancel()
			suite.IsError(t, suite.Receive(t, writer), context.Canceled)
			suite.Must(t, suite.Receive(t, reader)) // joins what it could have joined before
			suite.InLine(t, raw, p, 1)
			rw.RUnlock()
			rw.RUnlock()
			suite.AtRest(t, s)
			z.Empty(t, p)
		})
	})
}
