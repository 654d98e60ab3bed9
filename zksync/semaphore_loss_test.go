package zksync_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Permits without a handle: which of them Release gives back.

// Release gives lost permits back first, in any parts, and makes no request for them.
// Permits that were taken later stay.
func TestLostPermitsArePaidFirst(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		proxy, s := z.Behind(t)
		sem, other := zksync.NewSemaphore(s, p, 6), zksync.NewSemaphore(z.Dial(t), p, 6)
		suite.Must(t, sem.Acquire(ctx, 3))
		suite.Must(t, sem.Acquire(ctx, 1))
		h, err := sem.Hold(ctx, 1)
		suite.Must(t, err)
		suite.Must(t, z.Expire(s.ID()))
		lostBy(t, s, 3)
		if !other.TryAcquire(6) {
			t.Error("others are held up by what is lost")
		}
		other.Release(6)
		suite.IsError(t, h.Release(ctx), zksync.ErrLost)

		suite.Must(t, sem.Acquire(ctx, 2))
		touchesNothing(t, raw, proxy, s, p, func(string) {
			for _, n := range []int64{2, 1, 1} { // 2 of 3, and the rest, in whatever order
				sem.Release(n)
			}
		})
		if other.TryAcquire(5) || !other.TryAcquire(4) {
			t.Error("not two are held")
		}
		sem.Release(1)
		suite.Released(t, s)
		if !other.TryAcquire(1) || other.TryAcquire(1) {
			t.Error("not one is held")
		}
		sem.Release(1)
		suite.Panics(t, "zksync: released more permits than held", func() { sem.Release(1) })
		other.Release(5)
		settles(t, z, s, p, 3)
	})
}

// Release of a part of permits finds out that they were lost, and counts the loss once.
func TestPartOfLostPermits(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		sem := zksync.NewSemaphore(s, p, 4)
		suite.Must(t, sem.Acquire(ctx, 3))
		suite.Must(t, raw.Delete(suite.NodeOf(t, raw, p, s), -1))
		sem.Release(1)
		lostBy(t, s, 1)
		suite.Must(t, sem.Acquire(ctx, 4))
		node := suite.NodeOf(t, raw, p, s)
		sem.Release(2) // what was left of the three
		if got := suite.NodeOf(t, raw, p, s); got != node {
			t.Errorf("node %s, was %s", got, node)
		}
		sem.Release(4)
		suite.Panics(t, "zksync: released more permits than held", func() { sem.Release(1) })
		settles(t, z, s, p, 1)
	})
}

// Several goroutines give back parts of one permit at once: each part counts once, and
// none is lost.
func TestPartsGivenBackAtOnce(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n, left = 8, 3
		ctx, p := suite.Context(t), z.Path(t)
		// A Release waits for those before it for T/3 at most, whatever has been sent by then.
		s := z.Dial(t, zksync.WithSessionTimeout(suite.SecondsTimeout))
		sem := zksync.NewSemaphore(s, p, n)
		for range 20 {
			suite.Must(t, sem.Acquire(ctx, n))
			suite.Together(t, n-left, func(int) error { sem.Release(1); return nil })
			q, err := s.Inspect(ctx, p)
			suite.Must(t, err)
			if len(q.Nodes) != 1 || q.Nodes[0].Weight != left {
				t.Fatalf("%d are held: %+v", left, q.Nodes)
			}
			suite.Together(t, left, func(int) error { sem.Release(1); return nil })
			if q, err := s.Inspect(ctx, p); err != nil || len(q.Nodes) != 0 {
				t.Fatalf("none is held: %+v, %v", q.Nodes, err)
			}
		}
		if n := s.Stats().Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
	})
}

// Semaphore.Release does not give back the permits of a Hold, and Hold.Release not those
// that were acquired without one.
func TestReleaseIsNotForHolds(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		sem := zksync.NewSemaphore(s, p, 5)
		h, err := sem.Hold(ctx, 2)
		suite.Must(t, err)
		const more = "zksync: released more permits than held"
		suite.Panics(t, more, func() { sem.Release(1) })
		suite.Must(t, sem.Acquire(ctx, 2))
		suite.Panics(t, more, func() { sem.Release(3) }) // none is given back
		suite.InLine(t, raw, p, 2)
		sem.Release(2)
		suite.Released(t, s)
		suite.Must(t, h.Err())
		if got := suite.NodeOf(t, raw, p, s); got != h.Node() {
			t.Errorf("%s is left, not the hold's", got)
		}
		suite.Must(t, h.Release(ctx))
		suite.Panics(t, more, func() { sem.Release(1) })
		suite.Panics(t, "zksync: negative number of permits", func() { sem.Release(-1) })
		suite.Panics(t, "zksync: negative number of permits", func() { sem.Acquire(ctx, -1) })
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Whether the request that gives a part back succeeds, fails or gets no answer, the part
// is given back once, and the rest is held or known to be lost.
func TestPartExits(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 9
		ctx, p, other := suite.Context(t), z.Path(t), z.Dial(t)
		proxy, s := z.Behind(t, zksync.WithSessionTimeout(suite.LossTimeout))
		sem := zksync.NewSemaphore(s, p, n)
		left := func(what string, weight int64) {
			t.Helper()
			suite.Eventually(t, what+": one node with the rest", func() bool {
				q, err := other.Inspect(ctx, p)
				suite.Must(t, err)
				return s.Stats().CleanupPending == 0 && len(q.Nodes) == 1 && q.Nodes[0].Weight == weight
			})
			if n := s.Stats().Losses; n != 0 {
				t.Fatalf("%s: %d losses", what, n)
			}
		}
		suite.Must(t, sem.Acquire(ctx, n))
		for i, act := range []ensemble.Action{ensemble.DropAndDisconnect, ensemble.Drop} {
			var once sync.Once
			proxy.SetHook(func(f ensemble.Frame) (do ensemble.Action) {
				if f.FromServer == (i == 0) && f.Op == "multi" {
					once.Do(func() { do = act })
				}
				return do
			})
			sem.Release(1)
			proxy.SetHook(nil)
			if act == ensemble.Drop { // the request itself: no answer ever comes
				proxy.DisconnectAll()
			}
			left(fmt.Sprint("fault ", i), int64(n-1-i))
		}
		suite.CutOffUntilKnown(t, proxy, s)
		suite.Within(t, suite.LossTimeout/3, func() { sem.Release(1) })
		proxy.Heal()
		left("cut off", n-3)

		suite.CutOffUntilKnown(t, proxy, s)
		part := suite.Async(func() error { sem.Release(2); return nil })
		suite.SleepReal(20 * time.Millisecond)
		suite.Must(t, z.Expire(s.ID()))
		proxy.Heal()
		suite.Receive(t, part)
		lostBy(t, s, 1)
		suite.Must(t, sem.Acquire(ctx, n))
		sem.Release(n - 5) // what was left of it
		sem.Release(n)
		suite.Panics(t, "zksync: released more permits than held", func() { sem.Release(1) })
		settles(t, z, s, p, 1)
	})
}
