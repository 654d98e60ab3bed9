package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// Several read sides are taken as one by several calls at a time, of one session,
// too: nobody loses what he has for that.
func TestMultiOfReadsIsShared(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, other := z.dial(t), z.dial(t)
		p, ctx := lockPath(t), short(t)
		reads := func(s *zksync.Session) *zksync.Multi {
			return zksync.NewMulti(zksync.NewRWMutex(s, p+"/a").RLocker(), zksync.NewRWMutex(s, p+"/b").RLocker())
		}
		h, err := reads(s).Hold(ctx)
		ok(t, err)
		ok(t, reads(s).LockContext(ctx))
		ok(t, reads(other).Do(ctx, func(context.Context, *zksync.Hold) error { return nil }))
		again, err := reads(s).TryHold(ctx)
		ok(t, err)
		w := zksync.NewMulti(zksync.NewRWMutex(s, p+"/a").RLocker(), zksync.NewRWMutex(s, p+"/b"))
		if got, err := w.TryLockContext(ctx); got || err != nil {
			t.Errorf("a writer of a part: %v, %v", got, err)
		}
		ok(t, h.Err())
		ok(t, again.Release(ctx))
		ok(t, reads(s).UnlockContext(ctx))
		panics(t, "zksync: Unlock of a lock held by a Hold", func() { reads(s).Unlock() })
		ok(t, h.Release(ctx))
		panics(t, "zksync: Unlock of an unlocked lock", func() { reads(s).Unlock() })
		free(t, w)
	})
}
