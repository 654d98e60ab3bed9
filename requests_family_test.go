package zksync_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// What the rest of the family costs, counted on the wire.

func TestRequestsOfAFreeReadLock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		rw := zksync.NewRWMutex(s.Session, usedPath(t, s.Session))
		s.take(t)
		for name, l := range map[string]zksync.Locker{"read": rw.RLocker(), "write": rw} {
			for range 3 {
				ok(t, l.LockContext(short(t)))
				s.wants(t, name, ops{"create": 1, "getChildren2": 1})
				ok(t, l.UnlockContext(short(t)))
				s.wants(t, name+", given back", ops{"delete": 1})
			}
			h, err := l.Hold(short(t))
			ok(t, err)
			s.wants(t, name+", with a handle", ops{"create": 1, "getChildren2": 1, "getData": 1})
			ok(t, h.Release(short(t)))
			s.wants(t, name+", released", ops{"delete": 1})
			if !l.TryLock() {
				t.Fatal("TryLock of a free lock")
			}
			s.wants(t, name+", tried", ops{"create": 1, "getChildren2": 2})
			l.Unlock()
			s.wants(t, name+", given back", ops{"delete": 1})
		}
	})
}

func TestRequestsOfAFreeSemaphore(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, other := z.counted(t), z.counted(t)
		p := usedPath(t, s.Session)
		sem := zksync.NewSemaphore(s.Session, p, 8)
		theirs := zksync.NewSemaphore(other.Session, p, 8)
		ctx := short(t)
		for range 2 {
			s.take(t)
			ok(t, sem.Acquire(ctx, 3))
			s.wants(t, "Acquire", ops{"create": 1, "getChildren2": 1})
			sem.Release(2)
			s.wants(t, "Release of a part", ops{"multi": 1})
			sem.Release(1)
			s.wants(t, "Release", ops{"delete": 1})
			ok(t, sem.Acquire(ctx, 0))
			sem.Release(0)
			s.wants(t, "nothing", ops{})
			if !sem.TryAcquire(1) {
				t.Fatal("TryAcquire of a free semaphore")
			}
			s.wants(t, "TryAcquire", ops{"create": 1, "getChildren2": 2})
			h, err := sem.Hold(ctx, 1)
			ok(t, err)
			s.wants(t, "Hold", ops{"create": 1, "getChildren2": 1, "getData": 1})
			ok(t, h.Release(ctx))
			sem.Release(1)
			s.wants(t, "both are given back", ops{"delete": 2})

			// With others in it, who don't hear of it.
			ok(t, theirs.Acquire(ctx, 4))
			other.take(t)
			ok(t, sem.Acquire(ctx, 4))
			s.wants(t, "Acquire beside others", ops{"create": 1, "getChildren2": 1})
			if sem.TryAcquire(1) {
				t.Fatal("nine of eight")
			}
			s.wants(t, "TryAcquire, refused", ops{"getChildren2": 1})
			if sem.TryAcquire(9) {
				t.Fatal("nine of eight")
			}
			s.wants(t, "more than there are", ops{})
			sem.Release(4)
			s.wants(t, "Release beside others", ops{"delete": 1})
			other.wants(t, "the others", ops{})
			theirs.Release(4)
		}
		if n := other.events.Load(); n != 0 {
			t.Errorf("%d watch events at those who hold", n)
		}
	})
}

func TestRequestsOfAFreeMulti(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		const n = 5
		root := usedPath(t, s.Session)
		var all []zksync.Locker
		for i := range n {
			m := zksync.NewMutex(s.Session, fmt.Sprint(root, "/", i))
			free(t, m) // the parents are there
			all = append(all, m)
		}
		m := zksync.NewMulti(all...)
		s.take(t)
		for range 3 {
			ok(t, m.LockContext(short(t)))
			s.wants(t, "five free locks", ops{"multi": 1, "getChildren2": n})
			ok(t, m.UnlockContext(short(t)))
			s.wants(t, "given back", ops{"multi": 1})
		}
		h, err := m.Hold(short(t))
		ok(t, err)
		// Each node is watched while there is a handle, beside the call.
		eventually(t, "all are watched", func() bool { return s.p.Requests()["getData"] >= n })
		s.wants(t, "Hold of five", ops{"multi": 1, "getChildren2": n, "getData": n})
		ok(t, h.Release(short(t)))
		s.wants(t, "released", ops{"multi": 1})

		taken := all[3].(*zksync.Mutex)
		taken.Lock()
		s.take(t)
		if m.TryLock() {
			t.Fatal("one of the five is held")
		}
		if got := s.take(t); got["getChildren2"] > n || got.sum() != got["getChildren2"] {
			t.Errorf("a refused try: %v", got)
		}
		taken.Unlock()
	})
}

func TestRequestsOfADowngrade(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		rw := zksync.NewRWMutex(s.Session, usedPath(t, s.Session))
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		h, err := w.Hold(short(t))
		ok(t, err)
		s.take(t)
		rh, err := r.Hold(short(t))
		ok(t, err)
		eventually(t, "the read node is watched", func() bool { return s.p.Requests()["getData"] > 0 })
		s.wants(t, "reading as well", ops{"multi": 1, "getData": 1})
		ok(t, h.Release(short(t)))
		s.wants(t, "no longer writing", ops{"delete": 1})
		if err := rw.LockContext(zksync.WithOwner(short(t), o)); !errors.Is(err, zksync.ErrDeadlock) {
			t.Error(err)
		}
		s.wants(t, "an upgrade", ops{})
		ok(t, rh.Release(short(t)))
		s.wants(t, "no longer reading", ops{"delete": 1})
	})
}

// A writer's release wakes the readers that can enter, each of whom asks once,
// and nobody behind them.
func TestWriteReleaseWakesTheReaders(t *testing.T) {
	const n = 20
	onServers(t, func(t *testing.T, z *site) {
		ctx := short(t)
		first, last := z.counted(t), z.counted(t)
		p := usedPath(t, first.Session)
		w := zksync.NewRWMutex(first.Session, p)
		w.Lock()
		var readers []*counted
		var all []<-chan error
		for range n {
			s := z.counted(t)
			readers = append(readers, s)
			all = append(all, async(func() error { return zksync.NewRWMutex(s.Session, p).RLockContext(ctx) }))
			s.stands(t)
		}
		second := async(func() error { return zksync.NewRWMutex(last.Session, p).LockContext(ctx) })
		last.stands(t)
		first.take(t)

		w.Unlock()
		for i, s := range readers {
			ok(t, get(t, all[i]))
			s.wants(t, fmt.Sprint("reader ", i), ops{"getChildren2": 1})
			if e := s.events.Load(); e != 1 {
				t.Errorf("reader %d: %d watch events", i, e)
			}
		}
		first.wants(t, "the release", ops{"delete": 1})
		last.wants(t, "the writer behind them", ops{})
		if e := last.events.Load(); e != 0 {
			t.Errorf("the writer behind them: %d watch events", e)
		}

		// The readers leave in their order: the writer's blocker is the last.
		for i, s := range readers {
			ok(t, zksync.NewRWMutex(s.Session, p).RUnlockContext(ctx))
			if i < n-1 {
				s.wants(t, fmt.Sprint("reader ", i, " leaves"), ops{"delete": 1})
				if got := last.take(t); got.sum() != 0 {
					t.Errorf("reader %d leaves: the writer asks %v", i, got)
				}
			}
		}
		ok(t, get(t, second))
		if got := last.take(t); got.sum() > 1 {
			t.Errorf("the writer gets in: %v", got)
		}
		zksync.NewRWMutex(last.Session, p).Unlock()
	})
}

// A permit that is given back wakes the first that waits, and those behind it
// only when it gets in.
func TestReleaseOfAPermitWakesOne(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		const n = 5
		first := z.counted(t)
		p := usedPath(t, first.Session)
		ctx := short(t)
		sem := zksync.NewSemaphore(first.Session, p, 2)
		ok(t, sem.Acquire(ctx, 2))
		var line []*counted
		var all []<-chan error
		for i := range n {
			s := z.counted(t)
			line = append(line, s)
			all = append(all, async(func() error { return zksync.NewSemaphore(s.Session, p, 2).Acquire(ctx, 2) }))
			lineOf(t, first.Conn(), p, i+2)
			eventually(t, "it watches", func() bool { return s.p.Requests()["getData"] > 0 })
		}
		free := func() { sem.Release(2) }
		for i, s := range line {
			for _, s := range line {
				s.take(t)
				s.events.Store(0)
			}
			free()
			ok(t, get(t, all[i]))
			for j := i + 2; j < n; j++ { // the next one watches the line from now on
				if got, e := line[j].take(t), line[j].events.Load(); got.sum() != 0 || e != 0 {
					t.Errorf("release %d, waiter %d: %v, %d events", i, j, got, e)
				}
			}
			if i+1 < n {
				eventually(t, "the next one has been told", func() bool { return line[i+1].events.Load() > 0 })
			}
			free = func() { zksync.NewSemaphore(s.Session, p, 2).Release(2) }
		}
		free()
		lineOf(t, first.Conn(), p, 0)
	})
}
