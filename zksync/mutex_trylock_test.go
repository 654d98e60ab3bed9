package zksync_test

import (
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestTryLockRules(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Dial(t), z.Dial(t)
		p := z.Path(t)
		m, theirs := zksync.NewMutex(s, p), zksync.NewMutex(other, p)
		ctx := suite.Context(t)
		suite.Must(t, theirs.LockContext(ctx))
		if m.TryLock() {
			t.Error("TryLock while another session holds")
		}
		if got, err := m.TryLockContext(ctx); got || err != nil {
			t.Errorf("TryLockContext: %v, %v", got, err)
		}
		_, err := m.TryHold(ctx)
		e := suite.IsError(t, err, zksync.ErrBusy)
		if e.Op != "try" || e.Path != p || e.Position != 1 || e.ErrorType() != "busy" || e.Timeout() {
			t.Errorf("%#v", e)
		}
		if n := len(suite.Children(t, z.Raw(t), p)); n != 1 {
			t.Errorf("%d nodes", n)
		}
		suite.Must(t, theirs.UnlockContext(ctx))
		got, err := m.TryLockContext(ctx) // UnlockContext said that it is gone
		if !got || err != nil {
			t.Errorf("TryLockContext of a free lock: %v, %v", got, err)
		}
		m.Unlock()
		h, err := m.TryHold(ctx)
		suite.Must(t, err)
		suite.Must(t, h.Release(ctx))
		suite.AtRest(t, s)
		z.Empty(t, p)

		suite.Must(t, s.Close())
		if m.TryLock() {
			t.Error("TryLock after Close")
		}
		if got, err := m.TryLockContext(ctx); got || !errors.Is(err, zksync.ErrClosed) {
			t.Errorf("TryLockContext after Close: %v, %v", got, err)
		}
	}, suite.Smoke)
}

// TryLock waits for an answer for a third of the session timeout, and while
// disconnected not at all.
func TestTryLockDisconnected(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		n, s := z.Through(t)
		m := zksync.NewMutex(s, z.Path(t))
		suite.LockAndUnlock(t, m)
		n.Blackhole()
		start := time.Now()
		if m.TryLock() {
			t.Error("TryLock without an answer")
		}
		if d := time.Since(start); d > s.Timeout() {
			t.Errorf("TryLock without an answer took %v of a timeout of %v", d, s.Timeout())
		}
		n.Refuse()
		n.DisconnectAll()
		suite.Eventually(t, "the loss of the connection shows", func() bool { return s.Stats().Disconnects > 0 })
		start = time.Now()
		if m.TryLock() {
			t.Error("TryLock while disconnected")
		}
		if d := time.Since(start); d > s.Timeout()/8 {
			t.Errorf("TryLock while disconnected took %v", d)
		}
		n.Heal()
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
	}, suite.Timeless)
}
