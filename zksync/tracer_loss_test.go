package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// manyHolds takes n locks of a session, and returns their contexts.
func manyHolds(t *testing.T, s *zksync.Session, p string, n int) (holds []*zksync.Hold, ctxs []context.Context) {
	t.Helper()
	for i := range n {
		h, err := zksync.NewMutex(s, fmt.Sprint(p, "-", i)).Hold(suite.Context(t))
		suite.Must(t, err)
		holds, ctxs = append(holds, h), append(ctxs, h.Context(context.Background()))
	}
	return holds, ctxs
}

// allEnded waits until all contexts have ended; not longer than limit.
func allEnded(ctxs []context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for i, ctx := range ctxs {
		select {
		case <-ctx.Done():
		case <-timer.C:
			return fmt.Errorf("context %d of %d has not ended", i, len(ctxs))
		}
	}
	return nil
}

// lossesOfAll are the ways in which a session loses all that it holds.
var lossesOfAll = []struct {
	reason zksync.EndReason
	lose   func(z *suite.Ground, n suite.Network, s *zksync.Session) error
}{
	{zksync.EndContactLost, func(_ *suite.Ground, n suite.Network, _ *zksync.Session) error { n.Blackhole(); return nil }},
	{zksync.EndSessionExpired, func(z *suite.Ground, _ suite.Network, s *zksync.Session) error { return z.Expire(s.ID()) }},
	{zksync.EndClosed, func(_ *suite.Ground, _ suite.Network, s *zksync.Session) error { return s.Close() }},
}

// A loss of everything ends all contexts before the tracer sees the end of any hold: a
// HoldEnd that waits for the others' contexts gets what it waits for.
func TestLossEndsAllContextsBeforeHoldEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range lossesOfAll {
		t.Run(string(tt.reason), func(t *testing.T) {
			suite.Parallel(t)
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				const n = 8
				ready, waited := make(chan []context.Context, n), make(chan error, n)
				network, s := z.Through(t, zksync.WithTracer(&zksync.Tracer{
					HoldEnd: func(context.Context, zksync.AcquireInfo, zksync.HoldEndInfo) {
						ctxs := <-ready
						waited <- allEnded(ctxs, suite.Patience/4)
					},
				}))
				_, ctxs := manyHolds(t, s, z.Path(t), n)
				for range n {
					ready <- ctxs
				}
				suite.Must(t, tt.lose(z, network, s))
				for range n {
					suite.Must(t, suite.Receive(t, waited))
				}
				for _, ctx := range ctxs {
					if err := context.Cause(ctx); !errors.Is(err, zksync.ErrLost) {
						t.Errorf("cause %v", err)
					}
				}
				network.Heal()
			}, suite.Timeless)
		})
	}
}

// With any number of holds, and however slow the tracer and the log are, all contexts end at one moment, and HoldEnd comes for each hold.
func TestLossIsToldToAllAtOnce(t *testing.T) {
	const holds, slow = 100, 50 * time.Millisecond
	for _, tt := range []struct {
		name string
		lose func(srv *zktest.Server, s *zksync.Session)
		told int32
	}{
		{"contact", func(srv *zktest.Server, _ *zksync.Session) { srv.Blackhole() }, holds}, // the session lives
		{"expiry", func(srv *zktest.Server, s *zksync.Session) { srv.Expire(s.ID()) }, 2 * holds},
		{"close", func(_ *zktest.Server, s *zksync.Session) { go s.Close() }, 2 * holds},
	} {
		t.Run(tt.name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				t.Cleanup(func() { time.Sleep(time.Hour) }) // the tracer's functions outlive Close
				var told atomic.Int32
				s := z.Via(t, srv.Dial, zksync.WithLogger(slog.New(slowLog{slow})), zksync.WithTracer(&zksync.Tracer{
					HoldStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context { return ctx },
					HoldEnd:   func(context.Context, zksync.AcquireInfo, zksync.HoldEndInfo) { time.Sleep(slow); told.Add(1) },
					Session:   func(zksync.SessionEvent) { time.Sleep(suite.VirtualTimeout) },
					Cleanup:   func(zksync.CleanupEvent) { time.Sleep(slow) },
				}))
				for i := range holds { // only the log reports their loss
					zksync.NewMutex(s, fmt.Sprint("/plain-", i)).Lock()
				}
				_, ctxs := manyHolds(t, s, "/l", holds)
				var mu sync.Mutex
				ends := make(map[time.Time]int)
				for _, ctx := range ctxs {
					context.AfterFunc(ctx, func() {
						mu.Lock()
						defer mu.Unlock()
						ends[time.Now()]++
					})
				}
				tt.lose(srv, s)
				suite.Must(t, allEnded(ctxs, 2*suite.VirtualTimeout))
				time.Sleep(time.Nanosecond) // the functions after
				mu.Lock()
				if len(ends) != 1 {
					t.Errorf("the contexts of %d holds ended at %d moments", holds, len(ends))
				}
				mu.Unlock()
				srv.Heal()
				time.Sleep(10 * time.Minute)
				if n := told.Load(); n != tt.told {
					t.Errorf("HoldEnd came %d times, want %d", n, tt.told)
				}
			})
		})
	}
}

// slowLog is a log that takes its time.
type slowLog struct{ d time.Duration }

func (slowLog) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (l slowLog) Handle(context.Context, slog.Record) error { time.Sleep(l.d); return nil }

func (l slowLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l slowLog) WithGroup(string) slog.Handler { return l }

// A HoldEnd that does not return keeps no later loss from its holder: the session
// goes on proving its life, and reports when it can't.
func TestSlowHoldEndDelaysNoLoss(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		on := make(chan struct{})
		s := z.Via(t, srv.Dial, zksync.WithTracer(&zksync.Tracer{
			HoldEnd: func(context.Context, zksync.AcquireInfo, zksync.HoldEndInfo) { <-on },
		}))
		defer close(on)
		_, first := manyHolds(t, s, "/first", 1)
		srv.Blackhole()
		suite.Must(t, allEnded(first, suite.VirtualTimeout))
		srv.Heal()
		holds, second := manyHolds(t, s, "/second", 1)
		time.Sleep(2 * suite.VirtualTimeout)
		suite.Must(t, holds[0].Err()) // its session was proven alive all the time
		start := time.Now()
		srv.Blackhole()
		suite.Must(t, allEnded(second, suite.VirtualTimeout))
		if took := time.Since(start); took > suite.VirtualTimeout/2 {
			t.Errorf("the loss was told after %v", took)
		}
		srv.Heal()
	})
}
