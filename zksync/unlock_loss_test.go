package zksync_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// noLoss checks that a session has neither counted nor logged a loss.
func noLoss(t *testing.T, s *zksync.Session, log *suite.Notes) {
	t.Helper()
	suite.AtRest(t, s)
	suite.SleepReal(10 * time.Millisecond) // a loss is logged by another goroutine
	if n := s.Stats().Losses; n != 0 || log.Count("level=ERROR") != 0 {
		t.Errorf("%d losses:\n%s", n, log.String())
	}
}

// A deletion that was carried out before the session expired is no loss, though its answer
// was lost: another session had the lock while this one lived.
func TestUnlockDoneThenExpiry(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		var log suite.Notes
		network, s := z.Through(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		p := z.Path(t)
		l := of(s, p)
		l.lock()
		network.Blackhole(zktest.ToClient)
		l.unlockAll()
		suite.SleepReal(100 * time.Millisecond)
		if l.rest == nil { // else the rest waits for the answer to the first part
			other := of(z.Dial(t), p)
			h, err := other.hold(suite.Context(t))
			suite.Must(t, err)
			suite.Must(t, h.Release(suite.Context(t)))
		}
		network.Refuse()
		network.DisconnectAll()
		suite.Must(t, z.Expire(s.ID()))
		network.Heal()
		noLoss(t, s, &log)
	}, suite.Timeless)
}

// A lock that is given back while disconnected was not lost if its session was alive by the
// clock, though the session expires before the deletion can be sent.
func TestUnlockDisconnectedThenExpiry(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		var log suite.Notes
		network, s := z.Through(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		p := z.Path(t)
		l := of(s, p)
		l.lock()
		n := s.Stats().Disconnects
		network.Refuse()
		network.DisconnectAll()
		suite.Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
		l.unlockAll()
		suite.Must(t, z.Expire(s.ID()))
		network.Heal()
		noLoss(t, s, &log)
	}, suite.Timeless)
}

// UnlockContext and Release return nil for a lock that was given back while its session was
// alive by the clock, if the session expires before the answer: the node is gone with it. The
// tracer gets the same result.
func TestUnlockContextThenExpiry(t *testing.T) {
	for name, direction := range map[string][]zktest.Direction{"Done": {zktest.ToClient}, "NotDone": nil} {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				var log suite.Notes
				told := make(chan error, 2)
				network, s := z.Through(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
					zksync.WithTracer(&zksync.Tracer{ReleaseEnd: func(_ context.Context, _ zksync.AcquireInfo, r zksync.ReleaseEndInfo) { told <- r.Err }}))
				p := z.Path(t)
				m := zksync.NewMutex(s, p)
				m.Lock()
				h, err := zksync.NewMutex(s, p+"-2").Hold(suite.Context(t))
				suite.Must(t, err)
				network.Blackhole(direction...)
				unlocked := suite.Async(func() error { return m.UnlockContext(context.Background()) })
				released := suite.Async(func() error { return h.Release(context.Background()) })
				suite.SleepReal(100 * time.Millisecond)
				network.Refuse()
				network.DisconnectAll()
				suite.Must(t, z.Expire(s.ID()))
				network.Heal()
				for range 2 {
					suite.Must(t, <-told)
				}
				suite.Must(t, suite.Receive(t, unlocked))
				suite.Must(t, suite.Receive(t, released))
				noLoss(t, s, &log)
			}, suite.Timeless)
		})
	}
}
