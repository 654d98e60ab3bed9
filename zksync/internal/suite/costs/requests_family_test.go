package costs_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The requests of RWMutex, Multi and Semaphore, counted on the wire.

func TestRequestsOfAFreeReadLock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		rw := zksync.NewRWMutex(s.Session, z.UsedPath(t, s.Session))
		suite.LockAndUnlock(t, rw) // the second use, from which on the path is watched
		s.Take(t)
		for name, l := range map[string]zksync.Locker{"read": rw.RLocker(), "write": rw} {
			for range 3 {
				suite.Must(t, l.LockContext(suite.Context(t)))
				s.Wants(t, name, suite.Ops{"create": 1})
				suite.Must(t, l.UnlockContext(suite.Context(t)))
				s.Wants(t, name+", given back", suite.Ops{"delete": 1})
			}
			h, err := l.Hold(suite.Context(t))
			suite.Must(t, err)
			s.Watched(t)
			s.Wants(t, name+", with a handle", suite.Ops{"create": 1, "getData": 1})
			suite.Must(t, h.Release(suite.Context(t)))
			s.Wants(t, name+", released", suite.Ops{"delete": 1})
			if !l.TryLock() {
				t.Fatal("TryLock of a free lock")
			}
			s.Wants(t, name+", tried", suite.Ops{"create": 1, "getChildren2": 1})
			l.Unlock()
			s.Wants(t, name+", given back", suite.Ops{"delete": 1})
		}
	})
}

func TestRequestsOfAFreeSemaphore(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, s.Session)
		sem := zksync.NewSemaphore(s.Session, p, 8)
		theirs := zksync.NewSemaphore(other.Session, p, 8)
		ctx := suite.Context(t)
		for range 2 {
			s.Take(t)
			suite.Must(t, sem.Acquire(ctx, 3))
			if s.Take(t)["create"] != 1 {
				t.Error("Acquire")
			}
			sem.Release(2)
			s.Wants(t, "Release of a part", suite.Ops{"multi": 1})
			sem.Release(1)
			s.Wants(t, "Release", suite.Ops{"delete": 1})
			suite.Must(t, sem.Acquire(ctx, 1))
			s.Wants(t, "Acquire after a part was given back", suite.Ops{"create": 1, "getChildren2": 1})
			sem.Release(1)
			s.Wants(t, "Release", suite.Ops{"delete": 1})
			suite.Must(t, sem.Acquire(ctx, 1))
			s.Wants(t, "Acquire, once the count is known", suite.Ops{"create": 1, "getChildren2": 1})
			for range 3 {
				sem.Release(1)
				s.Wants(t, "Release", suite.Ops{"delete": 1})
				suite.Must(t, sem.Acquire(ctx, 1))
				s.Wants(t, "Acquire again", suite.Ops{"create": 1})
			}
			sem.Release(1)
			s.Wants(t, "Release", suite.Ops{"delete": 1})
			suite.Must(t, sem.Acquire(ctx, 0))
			sem.Release(0)
			s.Wants(t, "nothing", suite.Ops{})
			if !sem.TryAcquire(1) {
				t.Fatal("TryAcquire of a free semaphore")
			}
			s.Wants(t, "TryAcquire", suite.Ops{"create": 1, "getChildren2": 1})
			h, err := sem.Hold(ctx, 1)
			suite.Must(t, err)
			s.Watched(t)
			s.Wants(t, "Hold beside a permit of the same session", suite.Ops{"create": 1, "getData": 1})
			suite.Must(t, h.Release(ctx))
			sem.Release(1)
			s.Wants(t, "both are given back", suite.Ops{"delete": 2})

			// With others in it, who don't hear of it.
			suite.Must(t, theirs.Acquire(ctx, 4))
			other.Take(t)
			suite.Must(t, sem.Acquire(ctx, 4))
			s.Wants(t, "Acquire beside others", suite.Ops{"create": 1, "getChildren2": 1})
			if sem.TryAcquire(1) {
				t.Fatal("nine of eight")
			}
			s.Wants(t, "TryAcquire, refused", suite.Ops{"getChildren2": 1})
			if sem.TryAcquire(9) {
				t.Fatal("nine of eight")
			}
			s.Wants(t, "more than there are", suite.Ops{})
			sem.Release(4)
			s.Wants(t, "Release beside others", suite.Ops{"delete": 1})
			other.Wants(t, "the others", suite.Ops{})
			theirs.Release(4)
		}
		if n := other.Events.Load(); n != 0 {
			t.Errorf("%d watch events at those who hold", n)
		}
	})
}

func TestRequestsOfAFreeMulti(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		const n = 5
		root := z.UsedPath(t, s.Session)
		var all []zksync.Locker
		for i := range n {
			m := zksync.NewMutex(s.Session, fmt.Sprint(root, "/", i))
			suite.LockAndUnlock(t, m) // the parents are there
			all = append(all, m)
		}
		m := zksync.NewMulti(all...)
		suite.LockAndUnlock(t, m) // the second use, from which on the paths are watched
		s.Take(t)
		for range 3 {
			suite.Must(t, m.LockContext(suite.Context(t)))
			s.Wants(t, "five free locks", suite.Ops{"multi": 1})
			suite.Must(t, m.UnlockContext(suite.Context(t)))
			s.Wants(t, "given back", suite.Ops{"multi": 1})
		}
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		// Each node is watched while there is a handle, beside the call.
		suite.Eventually(t, "all are watched", func() bool { return s.Proxy.Requests()["getData"] >= n })
		s.Wants(t, "Hold of five", suite.Ops{"multi": 1, "getData": n})
		suite.Must(t, h.Release(suite.Context(t)))
		s.Wants(t, "released", suite.Ops{"multi": 1})

		taken := all[3].(*zksync.Mutex)
		taken.Lock()
		s.Take(t)
		if m.TryLock() {
			t.Fatal("one of the five is held")
		}
		if got := s.Take(t); got["getChildren2"] > n || got.Sum() != got["getChildren2"] {
			t.Errorf("a refused try: %v", got)
		}
		taken.Unlock()
	})
}

func TestRequestsOfADowngrade(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		rw := zksync.NewRWMutex(s.Session, z.UsedPath(t, s.Session))
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		h, err := w.Hold(suite.Context(t))
		suite.Must(t, err)
		s.Watched(t)
		s.Take(t)
		rh, err := r.Hold(suite.Context(t))
		suite.Must(t, err)
		suite.Eventually(t, "the read node is watched", func() bool { return s.Proxy.Requests()["getData"] > 0 })
		s.Wants(t, "reading as well", suite.Ops{"multi": 1, "getData": 1})
		suite.Must(t, h.Release(suite.Context(t)))
		s.Wants(t, "no longer writing", suite.Ops{"delete": 1})
		if err := rw.LockContext(zksync.WithOwner(suite.Context(t), o)); !errors.Is(err, zksync.ErrDeadlock) {
			t.Error(err)
		}
		s.Wants(t, "an upgrade", suite.Ops{})
		suite.Must(t, rh.Release(suite.Context(t)))
		s.Wants(t, "no longer reading", suite.Ops{"delete": 1})
	})
}

// A writer's release wakes the readers that can enter, each of whom asks once,
// and nobody behind them.
func TestWriteReleaseWakesTheReaders(t *testing.T) {
	const n = 20
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		first, last := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, first.Session)
		w := zksync.NewRWMutex(first.Session, p)
		w.Lock()
		var readers []*suite.Counted
		var all []<-chan error
		for range n {
			s := z.Counted(t)
			readers = append(readers, s)
			all = append(all, suite.Async(func() error { return zksync.NewRWMutex(s.Session, p).RLockContext(ctx) }))
			s.Stands(t)
		}
		second := suite.Async(func() error { return zksync.NewRWMutex(last.Session, p).LockContext(ctx) })
		last.Stands(t)
		first.Take(t)

		w.Unlock()
		for i, s := range readers {
			suite.Must(t, suite.Receive(t, all[i]))
			s.Wants(t, fmt.Sprint("reader ", i), suite.Ops{"getChildren2": 1})
			if e := s.Events.Load(); e != 1 {
				t.Errorf("reader %d: %d watch events", i, e)
			}
		}
		first.Wants(t, "the release", suite.Ops{"delete": 1})
		last.Wants(t, "the writer behind them", suite.Ops{})
		if e := last.Events.Load(); e != 0 {
			t.Errorf("the writer behind them: %d watch events", e)
		}

		// The readers leave in their order: the writer's blocker is the last.
		for i, s := range readers {
			suite.Must(t, zksync.NewRWMutex(s.Session, p).RUnlockContext(ctx))
			if i < n-1 {
				s.Wants(t, fmt.Sprint("reader ", i, " leaves"), suite.Ops{"delete": 1})
				if got := last.Take(t); got.Sum() != 0 {
					t.Errorf("reader %d leaves: the writer asks %v", i, got)
				}
			}
		}
		suite.Must(t, suite.Receive(t, second))
		if got := last.Take(t); got.Sum() > 1 {
			t.Errorf("the writer gets in: %v", got)
		}
		zksync.NewRWMutex(last.Session, p).Unlock()
	})
}

// A permit that is given back wakes the first that waits, and those behind it
// only when it gets in.
func TestReleaseOfAPermitWakesOne(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 5
		first := z.Counted(t)
		p := z.UsedPath(t, first.Session)
		ctx := suite.Context(t)
		sem := zksync.NewSemaphore(first.Session, p, 2)
		suite.Must(t, sem.Acquire(ctx, 2))
		var line []*suite.Counted
		var all []<-chan error
		for i := range n {
			s := z.Counted(t)
			line = append(line, s)
			all = append(all, suite.Async(func() error { return zksync.NewSemaphore(s.Session, p, 2).Acquire(ctx, 2) }))
			suite.InLine(t, first.Conn(), p, i+2)
			suite.Eventually(t, "it watches the line, or who waits before it", func() bool {
				ops := s.Proxy.Requests()
				return ops["getChildren2"]+ops["getData"] > 1
			})
		}
		free := func() { sem.Release(2) }
		for i, s := range line {
			for _, s := range line {
				s.Take(t)
				s.Events.Store(0)
			}
			free()
			suite.Must(t, suite.Receive(t, all[i]))
			for j := i + 2; j < n; j++ { // the next one watches the line from now on
				if got, e := line[j].Take(t), line[j].Events.Load(); got.Sum() != 0 || e != 0 {
					t.Errorf("release %d, waiter %d: %v, %d events", i, j, got, e)
				}
			}
			if i+1 < n {
				suite.Eventually(t, "the next one has been told", func() bool { return line[i+1].Events.Load() > 0 })
			}
			free = func() { zksync.NewSemaphore(s.Session, p, 2).Release(2) }
		}
		free()
		suite.InLine(t, first.Conn(), p, 0)
	})
}
