package zksync_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Lessons of permits, and of several locks at once.

// Whoever of the holders leaves, the one that waits for a permit gets it.
func TestLesson17_AnyHolderLeaves(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		const n = 3
		ctx, raw := short(t), z.raw(t)
		for i := range n {
			p := lockPath(t)
			var holders []*zksync.Hold
			for range n {
				h, err := zksync.NewSemaphore(z.dial(t), p, n).Hold(ctx, 1)
				ok(t, err)
				holders = append(holders, h)
			}
			s := z.dial(t)
			sem := zksync.NewSemaphore(s, p, n)
			got := async(func() error { return sem.Acquire(ctx, 1) })
			lineOf(t, raw, p, n+1)
			notYet(t, got)
			ok(t, holders[i].Release(ctx))
			ok(t, get(t, got))
			// The next one, when somebody dies.
			next := async(func() error { return sem.Acquire(ctx, 1) })
			lineOf(t, raw, p, n+1)
			ok(t, raw.Delete(holders[(i+1)%n].Node(), -1))
			ok(t, get(t, next))
			sem.Release(2)
			ok(t, holders[(i+2)%n].Release(ctx))
			z.empty(t, p)
		}
	})
}

// Permits are granted all or none: two who want both of two don't hold one each.
func TestLesson18_AllOrNone(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p := short(t), lockPath(t)
		raw, s, other := z.raw(t), z.dial(t), z.dial(t)
		one, two := zksync.NewSemaphore(s, p, 2), zksync.NewSemaphore(other, p, 2)
		ok(t, one.Acquire(ctx, 1))
		got := async(func() error { return two.Acquire(ctx, 2) })
		lineOf(t, raw, p, 2)
		notYet(t, got)
		q, err := s.Inspect(ctx, p)
		ok(t, err)
		if len(q.Nodes) != 2 || q.Nodes[1].Held || q.Nodes[1].Weight != 2 {
			t.Errorf("who waits for two has some: %+v", q.Nodes)
		}
		one.Release(1)
		ok(t, get(t, got))
		two.Release(2)
		rounds := runs(50)
		var wg sync.WaitGroup
		for _, sem := range []*zksync.Semaphore{one, two} {
			wg.Go(func() {
				for range rounds {
					ctx, cancel := context.WithTimeout(context.Background(), patience)
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
		z.empty(t, p)
	})
}

// What is no permit does not count, and what waits counts for those behind it
// only.
func TestLesson19_WhatCounts(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s := z.counted(t)
		free(t, zksync.NewMutex(s.Session, p))
		const sequential = zk.FlagEphemeral | zk.FlagSequence
		for _, foreign := range []string{"/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f10-lease-", "/lock-", "/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f11-__WRIT__"} {
			plant(t, raw, p+foreign, "", sequential)
		}
		plant(t, raw, p+"/config", "", 0)
		plant(t, raw, p+"/0", "", 0)
		const theirs = 5
		one, two := zksync.NewSemaphore(s.Session, p, 3), zksync.NewSemaphore(z.dial(t), p, 3)
		if !one.TryAcquire(1) {
			t.Fatal("foreign children count")
		}
		ok(t, one.Acquire(ctx, 1))
		next := async(func() error { return two.Acquire(ctx, 2) })
		lineOf(t, raw, p, theirs+3)
		last := async(func() error { return two.Acquire(ctx, 3) })
		lineOf(t, raw, p, theirs+4)
		notYet(t, next)
		one.Release(1)
		ok(t, get(t, next)) // whoever waits behind it
		one.Release(1)
		notYet(t, last)
		two.Release(2)
		ok(t, get(t, last))
		two.Release(3)
		lineOf(t, raw, p, theirs)
	})
}

// Limits that differ are an error where that is asked for; otherwise the smallest
// counts, and the log tells once.
func TestLesson20_LimitsDiffer(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p := short(t), lockPath(t)
		var log notes
		s := z.dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		small := zksync.NewSemaphore(z.dial(t), p, 2)
		large := zksync.NewSemaphore(s, p, 5)
		strict := zksync.NewSemaphore(z.dial(t), p, 5, zksync.WithStrictLimit())
		ok(t, small.Acquire(ctx, 1))
		isError(t, strict.Acquire(ctx, 1), zksync.ErrLimitMismatch)
		_, err := strict.Hold(ctx, 1)
		if e := isError(t, err, zksync.ErrLimitMismatch); e.ErrorType() != "limit_mismatch" {
			t.Errorf("%#v", e)
		}
		_, err = strict.TryHold(ctx, 1)
		isError(t, err, zksync.ErrLimitMismatch)
		if strict.TryAcquire(1) {
			t.Error("TryAcquire with another limit")
		}
		for range 3 {
			ok(t, large.Acquire(ctx, 1))
			large.Release(1)
		}
		ok(t, large.Acquire(ctx, 1))
		if large.TryAcquire(1) || small.TryAcquire(1) {
			t.Error("a third of two")
		}
		if n := log.count("level=WARN", p, "limit=5", "smallest=2"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		small.Release(1)
		isError(t, strictly(z, t, p).Acquire(ctx, 1), zksync.ErrLimitMismatch) // 3 beside 5
		large.Release(1)
		ok(t, strict.Acquire(ctx, 5)) // alone
		strict.Release(5)
		z.empty(t, p)
	})
}

func strictly(z *site, t *testing.T, p string) *zksync.Semaphore {
	return zksync.NewSemaphore(z.dial(t), p, 3, zksync.WithStrictLimit())
}

// One transaction that deletes several nodes, one of them gone, deletes none: they
// are deleted one by one. So they are when the answer is lost.
func TestLesson69_SeveralNodesOneGone(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, root, raw := short(t), lockPath(t), z.raw(t)
		proxy, s := z.behind(t)
		paths := []string{root + "/a", root + "/b", root + "/c"}
		var all []zksync.Locker
		for _, p := range paths {
			all = append(all, zksync.NewMutex(s, p))
		}
		m := zksync.NewMulti(all...)
		nothing := func() {
			t.Helper()
			atRest(t, s)
			for _, p := range paths {
				lineOf(t, raw, p, 0)
			}
		}
		for _, gone := range paths {
			for _, call := range calls {
				release, err := call.take(ctx, m)
				ok(t, err)
				ok(t, raw.Delete(nodeOf(t, raw, gone, s), -1))
				isError(t, release(ctx), zksync.ErrLost)
				nothing()
			}
		}
		// Done, and the answer lost: nothing was lost.
		m.Lock()
		var once sync.Once
		proxy.SetHook(func(f zktest.Frame) (act zktest.Action) {
			if f.FromServer && f.Op == "multi" {
				once.Do(func() { act = zktest.DropAndCut })
			}
			return act
		})
		ok(t, m.UnlockContext(ctx))
		proxy.SetHook(nil)
		nothing()
		free(t, m)
	})
}

// A Multi does not join what its session holds: it would be ahead in one queue and
// behind in another, and two of them would wait for each other.
func TestLesson70_MultiStandsByItself(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, root, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t), z.dial(t)
		pa, pb := root+"/a", root+"/b"
		a, b := zksync.NewMutex(s, pa), zksync.NewMutex(s, pb)
		ours := zksync.NewMulti(a, b)
		theirs := zksync.NewMulti(zksync.NewMutex(other, pb), zksync.NewMutex(other, pa))
		free(t, b)
		a.Lock()
		first := async(func() error { return theirs.LockContext(ctx) })
		lineOf(t, raw, pa, 2)
		second := async(func() error { return ours.LockContext(ctx) })
		lineOf(t, raw, pa, 3) // a fresh node, beside the one that is held
		lineOf(t, raw, pb, 2)
		local := async(func() error { return a.LockContext(ctx) })
		waiting(t, s, 2)
		a.Unlock() // to the goroutine next door, for whose node nobody here was ahead
		ok(t, get(t, local))
		notYet(t, first)
		notYet(t, second)
		a.Unlock()
		ok(t, get(t, first))
		notYet(t, second)
		theirs.Unlock()
		ok(t, get(t, second))
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
		isError(t, ours.LockContext(zksync.WithOwner(ctx, o)), zksync.ErrDeadlock)
		isError(t, zksync.NewMulti(b, ours).As(o).LockContext(ctx), zksync.ErrDeadlock)
		a.As(o).Unlock()
		free(t, ours.As(o))
		atRest(t, s)
		z.empty(t, pa)
		z.empty(t, pb)
	})
}

// A waiter that gets in just before the one behind has set its watch is noticed
// all the same: its node has been touched.
func TestLesson73_TouchedBeforeTheWatch(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		open := func(s *zksync.Session) *zksync.Semaphore { return zksync.NewSemaphore(s, p, 3) }
		holder, before := open(z.dial(t)), z.dial(t)
		proxy, s := z.behind(t)
		ok(t, holder.Acquire(ctx, 3))
		first := async(func() *zksync.Hold { h, _ := open(before).Hold(ctx, 2); return h })
		lineOf(t, raw, p, 2)
		eventually(t, "the first one waits", func() bool { n, _ := z.watches(); return n >= 2 })

		asked, on := make(chan struct{}), make(chan struct{})
		var once sync.Once
		proxy.SetHook(func(f zktest.Frame) zktest.Action {
			if !f.FromServer && f.Op == "getData" {
				once.Do(func() { close(asked); <-on })
			}
			return zktest.Pass
		})
		second := async(func() error { return open(s).Acquire(ctx, 1) })
		get(t, asked) // it has seen that it waits behind the first
		holder.Release(3)
		h := get(t, first)
		eventually(t, "the first one has touched its node", func() bool {
			_, st, err := raw.Exists(h.Node())
			return err == nil && st.Version > 0
		})
		close(on)
		ok(t, get(t, second)) // though the first one stays
		ok(t, h.Err())
		open(s).Release(1)
		ok(t, h.Release(ctx))
		z.empty(t, p)
	})
}
