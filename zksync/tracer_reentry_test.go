package zksync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// An owner that enters its lock again and again has one hold: HoldStart and HoldEnd come
// once.
func TestReentryIsOneTenure(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var starts, ends atomic.Int32
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{
			HoldStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context { starts.Add(1); return ctx },
			HoldEnd:   func(context.Context, zksync.AcquireInfo, zksync.HoldEndInfo) { ends.Add(1) },
		}))
		m := zksync.NewMutex(s, z.Path(t))
		ctx := zksync.WithOwner(suite.Context(t), zksync.NewOwner("twice"))
		suite.Must(t, m.LockContext(ctx))
		suite.Must(t, m.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return m.LockContext(ctx) }))
		suite.Must(t, m.UnlockContext(ctx))
		suite.Must(t, m.UnlockContext(ctx))
		if starts.Load() != 1 || ends.Load() != 1 {
			t.Errorf("HoldStart %d times, HoldEnd %d times", starts.Load(), ends.Load())
		}
	})
}
