package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// sides are the lock of a path, and its read side.
var sides = map[string]struct {
	open                 func(s *zksync.Session, p string) zksync.Locker
	others, held, locked string // panics
}{
	"Mutex": {func(s *zksync.Session, p string) zksync.Locker { return zksync.NewMutex(s, p) },
		"zksync: Unlock of a lock that another owner holds", "zksync: Unlock of a lock held by a Hold", "zksync: Unlock of an unlocked lock"},
	"write": {func(s *zksync.Session, p string) zksync.Locker { return zksync.NewRWMutex(s, p) },
		"zksync: Unlock of a lock that another owner holds", "zksync: Unlock of a lock held by a Hold", "zksync: Unlock of an unlocked lock"},
	"read": {func(s *zksync.Session, p string) zksync.Locker { return zksync.NewRWMutex(s, p).RLocker() },
		"zksync: RUnlock of a lock that only other owners read", "zksync: RUnlock of a lock that is not locked for reading",
		"zksync: RUnlock of a lock that is not locked for reading"},
	"Multi": {func(s *zksync.Session, p string) zksync.Locker {
		return zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-2"))
	}, "zksync: Unlock of a lock that another owner holds", "zksync: Unlock of a lock held by a Hold", "zksync: Unlock of an unlocked lock"},
}

// UnlockContext, whose context carries an owner that does not hold the lock, ends a level
// that nobody in particular took: as in `mu.Lock(); defer mu.UnlockContext(ctx)` where
// the program around it has put an owner into ctx. It never ends another owner's.
func TestUnlockContextWithAnOwner(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		for name, side := range sides {
			t.Run(name, func(t *testing.T) {
				p, ctx := z.Path(t), suite.Context(t)
				l, elsewhere := side.open(s, p), zksync.NewMutex(z.Dial(t), p)
				o, other := zksync.NewOwner("of a middleware"), zksync.NewOwner("another")
				with := zksync.WithOwner(ctx, o)
				l.Lock()
				suite.Must(t, l.UnlockContext(with))
				suite.LockAndUnlock(t, elsewhere)
				l.Lock()
				l.As(o).Unlock()
				suite.LockAndUnlock(t, elsewhere)
				suite.Panics(t, side.locked, func() { l.UnlockContext(with) })

				l.As(other).Lock()
				suite.Panics(t, side.others, func() { l.UnlockContext(with) })
				suite.Panics(t, side.others, l.As(o).Unlock)
				if elsewhere.TryLock() {
					t.Error("another owner's level was ended")
				}
				suite.Must(t, l.UnlockContext(ctx)) // with no owner it is Unlock
				suite.LockAndUnlock(t, elsewhere)

				h, err := l.Hold(with)
				suite.Must(t, err)
				suite.Panics(t, side.held, func() { l.UnlockContext(with) })
				suite.Must(t, h.Release(ctx))
				suite.LockAndUnlock(t, elsewhere)
			})
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// Of several readers an owner's level comes first, then one of nobody's.
func TestRUnlockContextWithAnOwner(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p, ctx := z.Dial(t), z.Path(t), suite.Context(t)
		rw := zksync.NewRWMutex(s, p)
		o, other := zksync.NewOwner("o"), zksync.NewOwner("other")
		with := zksync.WithOwner(ctx, o)
		rw.RLock()
		suite.Must(t, rw.RLockContext(with))
		suite.Must(t, rw.RLocker().As(other).LockContext(ctx))
		reads := func(want int) {
			t.Helper()
			if n := len(suite.Children(t, z.Raw(t), p)); n != want {
				t.Errorf("%d nodes, want %d", n, want)
			}
		}
		reads(3)
		suite.Must(t, rw.RUnlockContext(with))
		if got, err := rw.TryLockContext(with); got || err != nil { // it would be a deadlock while o reads
			t.Errorf("o's level was not the first to end: %v, %v", got, err)
		}
		reads(2)
		suite.Must(t, rw.RUnlockContext(with))
		reads(1)
		suite.Panics(t, "zksync: RUnlock of a lock that only other owners read", func() { rw.RUnlockContext(with) })
		reads(1)
		suite.Must(t, rw.RUnlockContext(zksync.WithOwner(context.Background(), other)))
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// A lost level without an owner is ended as well, and told.
func TestUnlockContextOfALostLevelWithAnOwner(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p, ctx := z.Dial(t), z.Path(t), suite.Context(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		suite.Must(t, z.Expire(s.ID()))
		lostBy(t, s, 1)
		suite.IsError(t, m.UnlockContext(zksync.WithOwner(ctx, zksync.NewOwner("o"))), zksync.ErrLost)
		suite.LockAndUnlock(t, m)
	})
}
