package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Several read sides are taken as one by several calls at a time, of one session,
// too: nobody loses what he has for that.
func TestMultiOfReadsIsShared(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Dial(t), z.Dial(t)
		p, ctx := z.Path(t), suite.Context(t)
		reads := func(s *zksync.Session) *zksync.Multi {
			return zksync.NewMulti(zksync.NewRWMutex(s, p+"/a").RLocker(), zksync.NewRWMutex(s, p+"/b").RLocker())
		}
		h, err := reads(s).Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, reads(s).LockContext(ctx))
		suite.Must(t, reads(other).Do(ctx, func(context.Context, *zksync.Hold) error { return nil }))
		again, err := reads(s).TryHold(ctx)
		suite.Must(t, err)
		w := zksync.NewMulti(zksync.NewRWMutex(s, p+"/a").RLocker(), zksync.NewRWMutex(s, p+"/b"))
		if got, err := w.TryLockContext(ctx); got || err != nil {
			t.Errorf("a writer of a part: %v, %v", got, err)
		}
		suite.Must(t, h.Err())
		suite.Must(t, again.Release(ctx))
		suite.Must(t, reads(s).UnlockContext(ctx))
		suite.Panics(t, "zksync: Unlock of a lock held by a Hold", func() { reads(s).Unlock() })
		suite.Must(t, h.Release(ctx))
		suite.Panics(t, "zksync: Unlock of an unlocked lock", func() { reads(s).Unlock() })
		suite.LockAndUnlock(t, w)
	})
}
