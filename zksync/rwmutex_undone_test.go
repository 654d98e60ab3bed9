package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// An RUnlock ends the level of the reader that came first, though that one's call has not
// returned. That call then gives its grant back, and the level that the RUnlock has left is
// the one that goes.
func TestReadGrantGivenBackAfterAnRUnlock(t *testing.T) {
	type first struct{}
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var between func()
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{
			AcquireEnd: func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.AcquireEndInfo) {
				if ctx.Value(first{}) != nil {
					between()
					panic("in a function of the tracer")
				}
			},
		}))
		p := z.Path(t)
		a, b := zksync.NewRWMutex(s, p, zksync.WithHandoff(0)), zksync.NewRWMutex(s, p, zksync.WithHandoff(0))
		between = func() {
			suite.Must(t, suite.Receive(t, suite.Async(func() error {
				b.RLock()
				b.RUnlock()
				return nil
			})))
		}
		func() {
			defer func() { _ = recover() }()
			_ = a.RLockContext(context.WithValue(suite.Context(t), first{}, true))
		}()
		suite.AtRest(t, s)
		suite.Must(t, a.LockContext(suite.Context(t)))
		suite.Must(t, a.UnlockContext(suite.Context(t)))
		z.Empty(t, p)
	}, suite.Smoke)
}
