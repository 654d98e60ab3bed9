package costs_test

import (
	"context"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// started returns how many goroutines the process has started. Before Go 1.26 the runtime
// does not count them, and the result is 0.
func started() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// To take a free lock and to release it needs no goroutine but the caller's and the one that
// reads the answers. That holds for a Hold that ends before its node is watched.
func TestAFreeLockStartsNoGoroutine(t *testing.T) {
	const n = 300
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		ctx := suite.Context(t)
		m, rw := zksync.NewMutex(s, z.UsedPath(t, s)), zksync.NewRWMutex(s, z.UsedPath(t, s))
		sem, beside := zksync.NewSemaphore(s, z.UsedPath(t, s), 3), zksync.NewSemaphore(s, z.UsedPath(t, s), 3)
		suite.Must(t, beside.Acquire(ctx, 1))
		defer beside.Release(1)
		for name, cycle := range map[string]func(){
			"Lock": func() { m.Lock(); m.Unlock() },
			"LockContext": func() {
				suite.Must(t, m.LockContext(ctx))
				suite.Must(t, m.UnlockContext(ctx))
			},
			"Hold": func() {
				h, err := m.Hold(ctx)
				suite.Must(t, err)
				suite.Must(t, h.Release(ctx))
			},
			"Do":        func() { suite.Must(t, m.Do(ctx, func(context.Context, *zksync.Hold) error { return nil })) },
			"RLock":     func() { rw.RLock(); rw.RUnlock() },
			"RW Lock":   func() { rw.Lock(); rw.Unlock() },
			"Semaphore": func() { suite.Must(t, sem.Acquire(ctx, 2)); sem.Release(2) },
			// the session has another permit
			"Semaphore, again": func() { suite.Must(t, beside.Acquire(ctx, 2)); beside.Release(2) },
		} {
			for range 3 { // the path is watched then
				cycle()
			}
			before := started()
			for range n {
				cycle()
			}
			time.Sleep(30 * time.Millisecond) // longer than a Hold is left alone
			if got := started() - before; got > n/3 {
				t.Errorf("%s: %d goroutines were started in %d cycles", name, got, n)
			}
		}
	})
}

// Nor does it need one with many requests under way.
func TestManyFreeLocksStartNoGoroutine(t *testing.T) {
	const locks, n = 64, 40
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		var all []*zksync.Mutex
		for range locks {
			all = append(all, zksync.NewMutex(s, z.UsedPath(t, s)))
		}
		cycles := func(n int) {
			var wg sync.WaitGroup
			for _, m := range all {
				wg.Go(func() {
					for range n {
						m.Lock()
						m.Unlock()
					}
				})
			}
			wg.Wait()
			suite.AtRest(t, s)
		}
		cycles(3)
		before := started()
		cycles(n)
		if got := started() - before; got > locks+locks*n/3 {
			t.Errorf("%d goroutines were started in %d cycles of %d locks", got, n, locks)
		}
	})
}
