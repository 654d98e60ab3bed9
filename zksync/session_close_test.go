package zksync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Close gives everything up: holds are lost, waits end, Lock panics.
func TestClose(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p, p2 := z.Dial(t), z.Path(t), z.Path(t)
		m, plain := zksync.NewMutex(s, p), zksync.NewMutex(s, p2)
		ctx := suite.Context(t)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		hctx := h.Context(ctx)
		plain.Lock()
		var waits []<-chan error
		for _, l := range []*zksync.Mutex{m, plain} {
			for _, call := range suite.Calls {
				if !call.Try {
					waits = append(waits, suite.Async(func() error { _, err := call.Take(ctx, l); return err }))
				}
			}
			waits = append(waits, suite.Async(func() error { e, _ := suite.PanicOf(l.Lock).(error); return e }))
		}
		suite.AwaitWaiting(t, s, len(waits))
		start := time.Now()
		both := suite.Async(s.Close)
		suite.Must(t, s.Close())
		suite.Must(t, suite.Receive(t, both))
		suite.Must(t, s.Close())
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("Close took %v", d)
		}
		z.Empty(t, p)
		z.Empty(t, p2)
		for _, w := range waits {
			e := suite.IsError(t, suite.Receive(t, w), zksync.ErrClosed)
			if e.ErrorType() != "closed" {
				t.Errorf("%#v", e)
			}
		}
		suite.Receive(t, hctx.Done())
		for _, err := range []error{context.Cause(hctx), h.Err(), h.Release(ctx)} {
			if !errors.Is(err, zksync.ErrLost) || !errors.Is(err, zksync.ErrClosed) {
				t.Errorf("the hold ended with %v", err)
			}
		}
		suite.IsError(t, plain.UnlockContext(ctx), zksync.ErrLost, zksync.ErrClosed)
		for _, call := range suite.Calls {
			_, err := call.Take(ctx, m)
			suite.IsError(t, err, zksync.ErrClosed)
		}
		suite.PanicsWith(t, m.Lock, zksync.ErrClosed)
		suite.PanicsWith(t, m.As(zksync.NewOwner("")).Lock, zksync.ErrClosed)
		suite.Panics(t, "zksync: Unlock of an unlocked lock", plain.Unlock)
		suite.IsError(t, s.Ping(ctx), zksync.ErrClosed)
		if st := s.Stats(); st.Held != 0 || st.Waiting != 0 || st.CleanupPending != 0 || st.Losses != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// A deferred Unlock after Close does no harm.
func TestUnlockAfterClose(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		suite.Must(t, s.Close())
		m.Unlock()
		z.Empty(t, p)
	})
}
