package zksync_test

import (
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
