package zksync_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Misuse for which package sync ends the process is a panic here, and leaves the lock as
// it was.
func TestRWMutexMisuse(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const (
			unlock   = "zksync: Unlock of an unlocked lock"
			runlock  = "zksync: RUnlock of a lock that is not locked for reading"
			heldLock = "zksync: Unlock of a lock held by a Hold"
		)
		s, p := z.Dial(t), z.Path(t)
		rw := zksync.NewRWMutex(s, p)
		suite.Panics(t, unlock, rw.Unlock)
		suite.Panics(t, runlock, rw.RUnlock)
		suite.Panics(t, runlock, rw.RLocker().Unlock)
		suite.Panics(t, runlock, func() { rw.RUnlockContext(suite.Context(t)) })
		rw.Lock()
		suite.Panics(t, runlock, rw.RUnlock)
		rw.Unlock()
		suite.Panics(t, unlock, rw.Unlock)
		rw.RLock()
		suite.Panics(t, unlock, rw.Unlock)
		rw.RUnlock()
		suite.Panics(t, runlock, rw.RUnlock)
		h, err := rw.RLocker().Hold(suite.Context(t))
		suite.Must(t, err)
		suite.Panics(t, runlock, rw.RUnlock) // only the handle gives it back
		suite.Must(t, h.Err())
		suite.Must(t, h.Release(suite.Context(t)))
		h, err = rw.Hold(suite.Context(t))
		suite.Must(t, err)
		suite.Panics(t, heldLock, rw.Unlock)
		suite.Must(t, h.Release(suite.Context(t)))
		var zero zksync.RWMutex
		for _, use := range []func(){zero.Lock, zero.RLock, zero.Unlock, zero.RUnlock, func() { zero.RLocker() }, func() { zero.Path() }} {
			suite.Panics(t, "zksync: use of zero RWMutex", use)
		}
		o := zksync.NewOwner("o")
		suite.Must(t, rw.RLocker().As(o).LockContext(suite.Context(t)))
		other := zksync.NewOwner("other")
		suite.Panics(t, "zksync: RUnlock of a lock that only other owners read", rw.RLocker().As(other).Unlock)
		suite.Panics(t, "zksync: RUnlock of a lock that only other owners read",
			func() { rw.RUnlockContext(zksync.WithOwner(suite.Context(t), other)) })
		rw.RUnlock() // whoever took it
		suite.LockAndUnlock(t, rw)
		suite.LockAndUnlock(t, rw.RLocker())
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}
