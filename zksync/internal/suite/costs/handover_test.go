package costs_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// endless is a budget of hand-overs that is never used up.
const endless = 1 << 30

// relays are the ways in which a lock passes between goroutines of a session, with what
// each takes in allocations at most.
var relays = map[string]struct {
	most float64
	get  func(s *zksync.Session, p string) (lock, unlock func())
}{
	"Lock": {1.1, func(s *zksync.Session, p string) (lock, unlock func()) {
		m := zksync.NewMutex(s, p, zksync.WithHandoff(endless))
		return m.Lock, m.Unlock
	}},
	"LockContext": {1.1, func(s *zksync.Session, p string) (lock, unlock func()) {
		m, ctx := zksync.NewMutex(s, p, zksync.WithHandoff(endless)), context.Background()
		return func() { _ = m.LockContext(ctx) }, func() { _ = m.UnlockContext(ctx) }
	}},
	"RLock": {1.1, func(s *zksync.Session, p string) (lock, unlock func()) {
		rw := zksync.NewRWMutex(s, p, zksync.WithHandoff(endless))
		rw.RLock() // for the others to join
		return rw.RLock, rw.RUnlock
	}},
	"Acquire": {1.1, func(s *zksync.Session, p string) (lock, unlock func()) {
		return permits(zksync.NewSemaphore(s, p, 1, zksync.WithHandoff(endless)), 1)
	}},
	"Acquire2of6": {1.1, func(s *zksync.Session, p string) (lock, unlock func()) {
		return permits(zksync.NewSemaphore(s, p, 6, zksync.WithHandoff(endless)), 2)
	}},
}

func permits(sem *zksync.Semaphore, n int64) (lock, unlock func()) {
	ctx := context.Background()
	return func() { _ = sem.Acquire(ctx, n) }, func() { sem.Release(n) }
}

// relay has goroutines take a lock n times, all together.
func relay(workers, n int, lock, unlock func()) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range n/workers + 1 {
				lock()
				unlock()
			}
		})
	}
	wg.Wait()
}

// A hand-over takes one allocation, for its holder, and readers that join take none.
func TestAHandOverNeedsLittleMemory(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		for name, way := range relays {
			s := z.Dial(t, zksync.WithSessionTimeout(time.Minute))
			lock, unlock := way.get(s, z.Path(t))
			const n = 50000
			relay(64, n, lock, unlock)
			// A collection empties the pool of calls.
			gc := debug.SetGCPercent(-1)
			runtime.GC()
			relay(64, n/10, lock, unlock)
			requests := s.Stats().Requests // of the few turns for which nobody waits
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			relay(64, n, lock, unlock)
			runtime.ReadMemStats(&after)
			debug.SetGCPercent(gc)
			each := float64(after.Mallocs-before.Mallocs) / n
			requests = s.Stats().Requests - requests
			t.Logf("%s: %.2f allocations, %d bytes; %d requests", name, each, (after.TotalAlloc-before.TotalAlloc)/n, requests)
			// A turn for which nobody waits makes a node: some 130 allocations a request.
			if each > way.most+200*float64(requests)/n && !race.Enabled { // the detector has pools forget
				t.Errorf("%s: %.2f allocations for each hand-over, want at most %v", name, each, way.most)
			}
		}
	})
}

// BenchmarkHandOver has 64 goroutines of a session pass a lock on.
func BenchmarkHandOver(b *testing.B) {
	z := suite.Embedded(b)
	for name, way := range relays {
		b.Run(name, func(b *testing.B) {
			s := z.Dial(b, zksync.WithSessionTimeout(time.Minute))
			lock, unlock := way.get(s, z.Path(b))
			b.ReportAllocs()
			b.ResetTimer()
			relay(64, b.N, lock, unlock)
		})
	}
}
