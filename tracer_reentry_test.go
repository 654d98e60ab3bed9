package zksync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// However often an owner enters its lock again, that is one tenure: HoldStart
// and HoldEnd come once.
func TestReentryIsOneTenure(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		var starts, ends atomic.Int32
		s := z.dial(t, zksync.WithTracer(&zksync.Tracer{
			HoldStart: func(ctx context.Context, _ zksync.Acquire) context.Context { starts.Add(1); return ctx },
			HoldEnd:   func(context.Context, zksync.Acquire, zksync.Ending) { ends.Add(1) },
		}))
		m := zksync.NewMutex(s, lockPath(t))
		ctx := zksync.WithOwner(short(t), zksync.NewOwner("twice"))
		ok(t, m.LockContext(ctx))
		ok(t, m.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return m.LockContext(ctx) }))
		ok(t, m.UnlockContext(ctx))
		ok(t, m.UnlockContext(ctx))
		if starts.Load() != 1 || ends.Load() != 1 {
			t.Errorf("HoldStart %d times, HoldEnd %d times", starts.Load(), ends.Load())
		}
	})
}
