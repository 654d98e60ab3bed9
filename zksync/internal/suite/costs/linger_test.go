package costs_test

import (
	"context"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// lingering are the ways to take and give back a lock that lingers, without an interface.
var lingering = map[string]func(ctx context.Context, m *zksync.Mutex, rw *zksync.RWMutex){
	"Lock": func(_ context.Context, m *zksync.Mutex, _ *zksync.RWMutex) { m.Lock(); m.Unlock() },
	"LockContext": func(ctx context.Context, m *zksync.Mutex, _ *zksync.RWMutex) {
		if m.LockContext(ctx) == nil {
			_ = m.UnlockContext(ctx)
		}
	},
	"TryLock": func(_ context.Context, m *zksync.Mutex, _ *zksync.RWMutex) {
		if m.TryLock() {
			m.Unlock()
		}
	},
	"RLock": func(_ context.Context, _ *zksync.Mutex, rw *zksync.RWMutex) { rw.RLock(); rw.RUnlock() },
}

// lingers returns locks that linger for long, on a path each.
func lingers(t testing.TB, z *suite.Ground) (s *zksync.Session, m *zksync.Mutex, rw *zksync.RWMutex) {
	s = z.Dial(t, zksync.WithSessionTimeout(time.Minute))
	m, rw = zksync.NewMutex(s, z.Path(t), zksync.WithLinger(time.Hour)), zksync.NewRWMutex(s, z.Path(t), zksync.WithLinger(time.Hour))
	for range 2 {
		m.Lock()
		m.Unlock()
		rw.RLock()
		rw.RUnlock()
	}
	return s, m, rw
}

// A lock that lingers is taken and given back without an allocation.
func TestALockThatLingersNeedsNoMemory(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		s, m, rw := lingers(t, z)
		for name, lock := range lingering {
			if n := testing.AllocsPerRun(100, func() { lock(t.Context(), m, rw) }); n != 0 && !race.Enabled {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkLinger takes and gives back a lock that lingers.
func BenchmarkLinger(b *testing.B) {
	z := suite.Embedded(b)
	_, m, rw := lingers(b, z)
	for name, lock := range lingering {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				lock(ctx, m, rw)
			}
		})
	}
}
