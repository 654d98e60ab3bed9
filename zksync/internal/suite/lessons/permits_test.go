package lessons_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Lessons of permits, and of several locks at once.

// Whichever holder leaves, the call that waits for a permit gets it.
func TestAnyHolderLeaves(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 3
		ctx, raw := suite.Context(t), z.Raw(t)
		for i := range n {
			p := z.Path(t)
			var holders []*zksync.Hold
			for range n {
				h, err := zksync.NewSemaphore(z.Dial(t), p, n).Hold(ctx, 1)
				suite.Must(t, err)
				holders = append(holders, h)
			}
			s := z.Dial(t)
			sem := zksync.NewSemaphore(s, p, n)
			got := suite.Async(func() error { return sem.Acquire(ctx, 1) })
			suite.InLine(t, raw, p, n+1)
			suite.NotYet(t, got)
			suite.Must(t, holders[i].Release(ctx))
			suite.Must(t, suite.Receive(t, got))
			// The next one, when somebody dies.
			next := suite.Async(func() error { return sem.Acquire(ctx, 1) })
			suite.InLine(t, raw, p, n+1)
			suite.Must(t, raw.Delete(holders[(i+1)%n].Node(), -1))
			suite.Must(t, suite.Receive(t, next))
			sem.Release(2)
			suite.Must(t, holders[(i+2)%n].Release(ctx))
			z.Empty(t, p)
		}
	}, suite.Timeless)
}

// Permits are granted all or none: two who want both of two don't hold one each.
func TestAllOrNone(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		raw, s, other := z.Raw(t), z.Dial(t), z.Dial(t)
		one, two := zksync.NewSemaphore(s, p, 2), zksync.NewSemaphore(other, p, 2)
		suite.Must(t, one.Acquire(ctx, 1))
		got := suite.Async(func() error { return two.Acquire(ctx, 2) })
		suite.InLine(t, raw, p, 2)
		suite.NotYet(t, got)
		q, err := s.Inspect(ctx, p)
		suite.Must(t, err)
		if len(q.Nodes) != 2 || q.Nodes[1].Held || q.Nodes[1].Weight != 2 {
			t.Errorf("who waits for two has some: %+v", q.Nodes)
		}
		one.Release(1)
		suite.Must(t, suite.Receive(t, got))
		two.Release(2)
		rounds := suite.Runs(50)
		var wg sync.WaitGroup
		for _, sem := range []*zksync.Semaphore{one, two} {
			wg.Go(func() {
				for range rounds {
					ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
					err := sem.Acquire(ctx, 2)
					cancel()
					if err != nil {
						t.Errorf("two who want two: %v", err)
						return
					}
					sem.Release(2)
				}
			})
		}
		wg.Wait()
		z.Empty(t, p)
	})
}

// Nodes that are no lock's do not count. A waiting node counts only for the nodes behind
// it.
func TestWhatCounts(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Counted(t)
		suite.LockAndUnlock(t, zksync.NewMutex(s.Session, p))
		const sequential = zk.FlagEphemeral | zk.FlagSequence
		for _, foreign := range []string{"/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f10-lease-", "/turn-", "/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f11-"} {
			suite.Plant(t, raw, p+foreign, "", sequential)
		}
		suite.Plant(t, raw, p+"/config", "", 0)
		suite.Plant(t, raw, p+"/0", "", 0)
		const theirs = 5
		one, two, three := zksync.NewSemaphore(s.Session, p, 3), zksync.NewSemaphore(z.Dial(t), p, 3), zksync.NewSemaphore(z.Dial(t), p, 3)
		if !one.TryAcquire(1) {
			t.Fatal("foreign children count")
		}
		suite.Must(t, one.Acquire(ctx, 1))
		next := suite.Async(func() error { return two.Acquire(ctx, 2) })
		suite.InLine(t, raw, p, theirs+3)
		last := suite.Async(func() error { return three.Acquire(ctx, 3) })
		suite.InLine(t, raw, p, theirs+4)
		suite.NotYet(t, next)
		one.Release(1)
		suite.Must(t, suite.Receive(t, next)) // whoever waits behind it
		one.Release(1)
		suite.NotYet(t, last)
		two.Release(2)
		suite.Must(t, suite.Receive(t, last))
		three.Release(3)
		suite.InLine(t, raw, p, theirs)
	})
}

// Limits that differ are an error where that is asked for; otherwise the smallest
// counts, and the log reports it once.
func TestLimitsDiffer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		var log suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		small := zksync.NewSemaphore(z.Dial(t), p, 2)
		large := zksync.NewSemaphore(s, p, 5)
		strict := zksync.NewSemaphore(z.Dial(t), p, 5, zksync.WithStrictLimit())
		suite.Must(t, small.Acquire(ctx, 1))
		suite.IsError(t, strict.Acquire(ctx, 1), zksync.ErrLimitMismatch)
		_, err := strict.Hold(ctx, 1)
		if e := suite.IsError(t, err, zksync.ErrLimitMismatch); e.ErrorType() != "limit_mismatch" {
			t.Errorf("%#v", e)
		}
		_, err = strict.TryHold(ctx, 1)
		suite.IsError(t, err, zksync.ErrLimitMismatch)
		if strict.TryAcquire(1) {
			t.Error("TryAcquire with another limit")
		}
		for range 3 {
			suite.Must(t, large.Acquire(ctx, 1))
			large.Release(1)
		}
		suite.Must(t, large.Acquire(ctx, 1))
		if large.TryAcquire(1) || small.TryAcquire(1) {
			t.Error("a third of two")
		}
		if n := log.Count("level=WARN", p, "limit=5", "smallest=2"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		small.Release(1)
		suite.IsError(t, strictly(z, t, p).Acquire(ctx, 1), zksync.ErrLimitMismatch) // 3 beside 5
		large.Release(1)
		suite.Released(t, s)
		suite.Must(t, strict.Acquire(ctx, 5)) // alone
		strict.Release(5)
		z.Empty(t, p)
	})
}

func strictly(z *suite.Ground, t *testing.T, p string) *zksync.Semaphore {
	return zksync.NewSemaphore(z.Dial(t), p, 3, zksync.WithStrictLimit())
}

// A transaction that deletes several nodes deletes none if one of them is gone. The nodes
// are then deleted one by one, as they are when the answer is lost.
func TestSeveralNodesOneGone(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, raw := suite.Context(t), z.Path(t), z.Raw(t)
		proxy, s := z.Behind(t)
		paths := []string{root + "/a", root + "/b", root + "/c"}
		var all []zksync.Locker
		for _, p := range paths {
			all = append(all, zksync.NewMutex(s, p))
		}
		m := zksync.NewMulti(all...)
		nothing := func() {
			t.Helper()
			suite.AtRest(t, s)
			for _, p := range paths {
				suite.InLine(t, raw, p, 0)
			}
		}
		for _, gone := range paths {
			for _, call := range suite.Calls {
				release, err := call.Take(ctx, m)
				suite.Must(t, err)
				suite.Must(t, raw.Delete(suite.NodeOf(t, raw, gone, s), -1))
				suite.IsError(t, release(ctx), zksync.ErrLost)
				nothing()
			}
		}
		// Done, and the answer lost: nothing was lost.
		m.Lock()
		var once sync.Once
		proxy.SetHook(func(f ensemble.Frame) (act ensemble.Action) {
			if f.FromServer && f.Op == "multi" {
				once.Do(func() { act = ensemble.DropAndDisconnect })
			}
			return act
		})
		suite.Must(t, m.UnlockContext(ctx))
		proxy.SetHook(nil)
		nothing()
		suite.LockAndUnlock(t, m)
	})
}

// A Multi does not join what its session holds: it would be ahead in one queue and
// behind in another, and two of them would wait for each other.
func TestMultiStandsByItself(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		pa, pb := root+"/a", root+"/b"
		a, b := zksync.NewMutex(s, pa), zksync.NewMutex(s, pb)
		ours := zksync.NewMulti(a, b)
		theirs := zksync.NewMulti(zksync.NewMutex(other, pb), zksync.NewMutex(other, pa))
		suite.LockAndUnlock(t, b)
		a.Lock()
		first := suite.Async(func() error { return theirs.LockContext(ctx) })
		suite.InLine(t, raw, pa, 2)
		second := suite.Async(func() error { return ours.LockContext(ctx) })
		suite.InLine(t, raw, pa, 3) // a fresh node, beside the one that is held
		suite.InLine(t, raw, pb, 2)
		local := suite.Async(func() error { return a.LockContext(ctx) })
		suite.AwaitWaiting(t, s, 2)
		a.Unlock() // to the goroutine next door, for whose node nobody here was ahead
		suite.Must(t, suite.Receive(t, local))
		suite.NotYet(t, first)
		suite.NotYet(t, second)
		a.Unlock()
		suite.Must(t, suite.Receive(t, first))
		suite.NotYet(t, second)
		theirs.Unlock()
		suite.Must(t, suite.Receive(t, second))
		// And nobody joins the Multi's.
		for name, l := range map[string]zksync.Locker{"a": a, "b": b, "the same Multi": ours, "another": zksync.NewMulti(b)} {
			if l.TryLock() {
				t.Errorf("%s beside the Multi", name)
			}
		}
		ours.Unlock()
		// For one line of work it would be a wait for itself.
		o := zksync.NewOwner("o")
		a.As(o).Lock()
		suite.IsError(t, ours.LockContext(zksync.WithOwner(ctx, o)), zksync.ErrDeadlock)
		suite.IsError(t, zksync.NewMulti(b, ours).As(o).LockContext(ctx), zksync.ErrDeadlock)
		a.As(o).Unlock()
		suite.LockAndUnlock(t, ours.As(o))
		suite.AtRest(t, s)
		z.Empty(t, pa)
		z.Empty(t, pb)
	})
}

// A waiter that gets in just before the one behind has set its watch is noticed
// all the same: its node has been touched.
func TestTouchedBeforeTheWatch(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		open := func(s *zksync.Session) *zksync.Semaphore { return zksync.NewSemaphore(s, p, 3) }
		holder, before := open(z.Dial(t)), z.Dial(t)
		proxy, s := z.Behind(t)
		suite.Must(t, holder.Acquire(ctx, 3))
		first := suite.Async(func() *zksync.Hold { h, _ := open(before).Hold(ctx, 2); return h })
		suite.InLine(t, raw, p, 2)
		suite.Eventually(t, "the first one waits", func() bool { n, _ := z.Watches(); return n > 0 })

		asked, on := make(chan struct{}), make(chan struct{})
		var once sync.Once
		proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			if !f.FromServer && f.Op == "getData" {
				once.Do(func() { close(asked); <-on })
			}
			return ensemble.Pass
		})
		second := suite.Async(func() error { return open(s).Acquire(ctx, 1) })
		suite.Receive(t, asked) // it has seen that it waits behind the first
		holder.Release(3)
		h := suite.Receive(t, first)
		suite.Eventually(t, "the first one has touched its node", func() bool {
			_, st, err := raw.Exists(h.Node())
			return err == nil && st.Version > 0
		})
		close(on)
		suite.Must(t, suite.Receive(t, second)) // though the first one stays
		suite.Must(t, h.Err())
		open(s).Release(1)
		suite.Must(t, h.Release(ctx))
		z.Empty(t, p)
	})
}
