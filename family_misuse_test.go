package zksync_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// What package sync ends the process for is a panic here, and the lock is as it
// was.
func TestRWMutexMisuse(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		const (
			unlock   = "zksync: Unlock of an unlocked lock"
			runlock  = "zksync: RUnlock of a lock that is not locked for reading"
			heldLock = "zksync: Unlock of a lock held by a Hold"
		)
		s, p := z.dial(t), lockPath(t)
		rw := zksync.NewRWMutex(s, p)
		panics(t, unlock, rw.Unlock)
		panics(t, runlock, rw.RUnlock)
		panics(t, runlock, rw.RLocker().Unlock)
		panics(t, runlock, func() { rw.RUnlockContext(short(t)) })
		rw.Lock()
		panics(t, runlock, rw.RUnlock)
		rw.Unlock()
		panics(t, unlock, rw.Unlock)
		rw.RLock()
		panics(t, unlock, rw.Unlock)
		rw.RUnlock()
		panics(t, runlock, rw.RUnlock)
		h, err := rw.RLocker().Hold(short(t))
		ok(t, err)
		panics(t, runlock, rw.RUnlock) // only the handle gives it back
		ok(t, h.Err())
		ok(t, h.Release(short(t)))
		h, err = rw.Hold(short(t))
		ok(t, err)
		panics(t, heldLock, rw.Unlock)
		ok(t, h.Release(short(t)))
		var zero zksync.RWMutex
		for _, use := range []func(){zero.Lock, zero.RLock, zero.Unlock, zero.RUnlock, func() { zero.RLocker() }, func() { zero.Path() }} {
			panics(t, "zksync: use of zero RWMutex", use)
		}
		o := zksync.NewOwner("o")
		ok(t, rw.RLocker().As(o).LockContext(short(t)))
		other := zksync.NewOwner("other")
		isError(t, rw.RLocker().As(other).UnlockContext(short(t)), zksync.ErrNotOwner)
		panics(t, "zksync: Unlock of a lock that another owner holds", rw.RLocker().As(other).Unlock)
		rw.RUnlock() // whoever took it
		free(t, rw)
		free(t, rw.RLocker())
		atRest(t, s)
		z.empty(t, p)
	})
}
