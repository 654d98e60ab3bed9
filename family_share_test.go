package zksync_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// Readers of one session share one node, but not so that writers starve.

// sum is the number of requests of all kinds.
func (m ops) sum() (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

func TestReadersShareANode(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, raw := z.counted(t), z.raw(t)
		p := usedPath(t, s.Session)
		rw := zksync.NewRWMutex(s.Session, p)
		s.take(t)
		rw.RLock()
		s.wants(t, "the first reader", ops{"create": 1, "getChildren2": 1})
		node := nodeOf(t, raw, p, s.Session)
		rw.RLock()
		s.wants(t, "the second", ops{"getData": 1}) // the node has to be watched
		for i := 3; i <= zksync.DefaultHandoff+1; i++ {
			ok(t, rw.RLockContext(short(t)))
			s.wants(t, fmt.Sprint("reader ", i), ops{})
		}
		if got := nodeOf(t, raw, p, s.Session); got != node {
			t.Errorf("node %s, was %s", got, node)
		}
		rw.RLock()
		s.wants(t, "the budget is used up", ops{"create": 1, "getChildren2": 1})
		lineOf(t, raw, p, 2)
		rw.RLock()
		s.wants(t, "on the second node", ops{"getData": 1})
		for range zksync.DefaultHandoff + 2 {
			rw.RUnlock()
		}
		s.wants(t, "all but one RUnlock", ops{"delete": 1})
		lineOf(t, raw, p, 1)
		rw.RUnlock()
		s.wants(t, "the last RUnlock", ops{"delete": 1})
		if n := s.Stats().Handoffs; n != zksync.DefaultHandoff+1 {
			t.Errorf("%d hand-overs counted", n)
		}
		panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
	})
}

// Readers who queued behind a writer stand in line once, and get in together.
func TestReadersQueueOnce(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, raw := z.counted(t), z.raw(t)
		other := z.dial(t)
		p := usedPath(t, s.Session)
		w := zksync.NewRWMutex(other, p)
		w.Lock()
		rw := zksync.NewRWMutex(s.Session, p)
		s.take(t)
		const n = 5
		var all []<-chan error
		for range n {
			all = append(all, async(func() error { return rw.RLockContext(short(t)) }))
		}
		waiting(t, s.Session, n)
		s.stands(t)
		lineOf(t, raw, p, 2)
		w.Unlock()
		for _, r := range all {
			ok(t, get(t, r))
		}
		s.wants(t, "five readers get in", ops{"getChildren2": 1})
		if e := s.events.Load(); e != 1 {
			t.Errorf("%d watch events", e)
		}
		for range n {
			ok(t, rw.RUnlockContext(short(t)))
		}
		s.wants(t, "and leave", ops{"delete": 1})
	})
}

// Whoever can be told apart has a node of its own: handles, owners, tries, and
// those of a strict lock.
func TestReadersWhoDontShare(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, s, raw := short(t), z.dial(t), z.raw(t)
		p := lockPath(t)
		rw, strict := zksync.NewRWMutex(s, p), zksync.NewRWMutex(s, p, zksync.WithHandoff(0))
		rw.RLock()
		nodes := 1
		var back []func(context.Context) error
		fences := make(map[int64]bool)
		own := func(what string, release func(context.Context) error, err error) {
			t.Helper()
			ok(t, err)
			back = append(back, release)
			nodes++
			if n := len(children(t, raw, p)); n != nodes {
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
			ok(t, err)
			own("Hold", h.Release, nil)
			if fences[h.Fence()] || h.Fence() == 0 {
				t.Errorf("fence %d again", h.Fence())
			}
			fences[h.Fence()] = true
		}
		rw.RLock() // shares, beside all of them
		if n := len(children(t, raw, p)); n != nodes {
			t.Errorf("%d nodes, want %d", n, nodes)
		}
		rw.RUnlock()
		for _, f := range back {
			ok(t, f(ctx))
		}
		rw.RUnlock()
		lineOf(t, raw, p, 0)

		// In line, too.
		w := zksync.NewRWMutex(z.dial(t), p)
		w.Lock()
		var reads []<-chan error
		for i := range 3 {
			reads = append(reads, async(func() error { return strict.RLockContext(ctx) }))
			lineOf(t, raw, p, i+2)
		}
		w.Unlock()
		for _, r := range reads {
			ok(t, get(t, r))
		}
		for range reads {
			strict.RUnlock()
		}
		atRest(t, s)
		z.empty(t, p)
	})
}

// Readers don't join a node when a writer of the process waits; and when the
// budget is used up and a writer of another session does, they stand behind it.
func TestReadersStopJoining(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, s, other, raw := short(t), z.dial(t), z.dial(t), z.raw(t)
		t.Run("for a writer next door", func(t *testing.T) {
			p := lockPath(t)
			rw := zksync.NewRWMutex(s, p)
			rw.RLock()
			rw.RLock() // so that the node is fit for more
			writer := async(func() error { return rw.LockContext(ctx) })
			lineOf(t, raw, p, 2)
			reader := async(func() error { return rw.RLockContext(ctx) })
			waiting(t, s, 2)
			notYet(t, reader)
			rw.RUnlock()
			notYet(t, reader)
			if rw.TryRLock() {
				t.Error("TryRLock past a waiting writer")
			}
			rw.RUnlock()
			ok(t, get(t, writer))
			notYet(t, reader)
			rw.Unlock()
			ok(t, get(t, reader))
			rw.RUnlock()
			atRest(t, s)
			z.empty(t, p)
		})
		t.Run("for a writer elsewhere", func(t *testing.T) {
			p := lockPath(t)
			const budget = 3
			rw := zksync.NewRWMutex(s, p, zksync.WithHandoff(budget))
			rw.RLock()
			writer := async(func() error { return zksync.NewRWMutex(other, p).LockContext(ctx) })
			lineOf(t, raw, p, 2)
			for range budget { // they join, nobody here knows of the writer
				ok(t, rw.RLockContext(ctx))
			}
			late := async(func() error { return rw.RLockContext(ctx) })
			lineOf(t, raw, p, 3)
			notYet(t, late)
			for range budget + 1 {
				rw.RUnlock()
			}
			ok(t, get(t, writer))
			notYet(t, late)
			zksync.NewRWMutex(other, p).Unlock()
			ok(t, get(t, late))
			rw.RUnlock()
			atRest(t, s)
			z.empty(t, p)
		})
		t.Run("a writer that gives up", func(t *testing.T) {
			p := lockPath(t)
			rw := zksync.NewRWMutex(s, p)
			rw.RLock()
			gone, cancel := context.WithCancel(ctx)
			writer := async(func() error { return rw.LockContext(gone) })
			lineOf(t, raw, p, 2)
			reader := async(func() error { return rw.RLockContext(ctx) })
			waiting(t, s, 2)
			cancel()
			isError(t, get(t, writer), context.Canceled)
			ok(t, get(t, reader)) // joins what it could have joined before
			lineOf(t, raw, p, 1)
			rw.RUnlock()
			rw.RUnlock()
			atRest(t, s)
			z.empty(t, p)
		})
	})
}
