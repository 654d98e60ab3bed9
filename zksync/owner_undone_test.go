package zksync_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// endsUnheard is a context that ends at the moment of a grant: those who wait for its end
// do not hear of it in time.
type endsUnheard struct {
	context.Context
	over atomic.Bool
}

func (c *endsUnheard) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return c.Context.Err()
}

// A call that is granted when its context ends gives the grant back. Its owner has never
// held the lock, so the owner's calls that could not enter beside it are not deadlocked:
// they go on waiting, and get the lock. If the call keeps the grant, they end.
func TestUndoneGrantEndsNoOtherCall(t *testing.T) {
	for name, pair := range map[string]func(s *zksync.Session, p string) (first, second zksync.Locker){
		"read, then write": func(s *zksync.Session, p string) (first, second zksync.Locker) {
			rw := zksync.NewRWMutex(s, p)
			return rw.RLocker(), rw
		},
		"a part, then all": func(s *zksync.Session, p string) (first, second zksync.Locker) {
			m := zksync.NewMutex(s, p)
			return m, zksync.NewMulti(m, zksync.NewMutex(s, p+"-2"))
		},
		"all, then a part": func(s *zksync.Session, p string) (first, second zksync.Locker) {
			m := zksync.NewMutex(s, p)
			return zksync.NewMulti(m, zksync.NewMutex(s, p+"-2")), m
		},
	} {
		for _, undone := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", undone", false: ", kept"}[undone], func(t *testing.T) {
				suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
					s, p := z.Dial(t), z.Path(t)
					blocker := zksync.NewRWMutex(z.Dial(t), p)
					blocker.Lock()
					ctx := zksync.WithOwner(suite.Context(t), zksync.NewOwner("o"))
					late := &endsUnheard{Context: ctx}
					l1, l2 := pair(s, p)
					first := suite.Async(func() error { return l1.LockContext(late) })
					suite.InLine(t, z.Raw(t), p, 2)
					second := suite.Async(func() error { return l2.LockContext(ctx) })
					suite.AwaitWaiting(t, s, 2)
					late.over.Store(undone)
					suite.Must(t, blocker.UnlockContext(ctx))
					if !undone {
						suite.Must(t, suite.Receive(t, first))
						suite.IsError(t, suite.Receive(t, second), zksync.ErrDeadlock)
						suite.Must(t, l1.UnlockContext(ctx))
						return
					}
					if err := suite.Receive(t, first); !errors.Is(err, context.Canceled) {
						t.Errorf("the first call: %v", err)
					}
					suite.Must(t, suite.Receive(t, second))
					suite.Must(t, l2.UnlockContext(ctx))
				}, suite.Timeless)
			})
		}
	}
}
