package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// Permits of none are refused on a path that is a lock's, as others are, and leave
// its line alone.
func TestNoPermitsOnALock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m, sem := zksync.NewMutex(s, p), zksync.NewSemaphore(s, p, 1)
		refused := func() {
			t.Helper()
			for _, n := range []int64{0, 1} {
				e := isError(t, get(t, async(func() error { return sem.Acquire(brieflyFor(t, patience/2), n) })))
				if errors.Is(e, context.DeadlineExceeded) || e.Err.Error() != "another value for this path is in use: a path is a semaphore's or a lock's" {
					t.Errorf("Acquire of %d: %v", n, e)
				}
				if sem.TryAcquire(n) {
					t.Errorf("TryAcquire of %d on a lock", n)
				}
			}
		}
		ok(t, sem.Acquire(short(t), 0))
		m.Lock()
		refused()
		second := async(func() error { return m.LockContext(short(t)) })
		waiting(t, s, 1)
		refused()
		m.Unlock()
		ok(t, get(t, second))
		if n := len(children(t, z.raw(t), p)); n != 1 {
			t.Errorf("%d nodes in line for one holder", n)
		}
		m.Unlock()

		// As a part of a Multi alone, whether it is held or waited for.
		for _, other := range []zksync.Locker{m, zksync.NewRWMutex(s, p).RLocker()} {
			mu := zksync.NewMulti(other, zksync.NewMutex(s, p+"-2"))
			mu.Lock()
			refused()
			mu.Unlock()
			held := zksync.NewMutex(z.dial(t), p)
			held.Lock()
			got := async(func() error { return mu.LockContext(short(t)) })
			waiting(t, s, 1)
			refused()
			held.Unlock()
			ok(t, get(t, got))
			mu.Unlock()
			ok(t, sem.Acquire(short(t), 0)) // it is nobody's now
			ok(t, sem.Acquire(short(t), 1))
			sem.Release(1)
		}

		// More than there are wait, on a lock's path, too.
		m.Lock()
		err := get(t, async(func() error { return sem.Acquire(brieflyFor(t, patience/50), 2) }))
		if err != context.DeadlineExceeded {
			t.Errorf("Acquire of more than the limit: %v", err)
		}
		m.Unlock()

		// The other way round.
		ok(t, sem.Acquire(short(t), 1))
		one := async(func() error { return sem.Acquire(short(t), 1) })
		waiting(t, s, 1)
		none := async(func() error { return sem.Acquire(short(t), 0) })
		for _, call := range calls {
			_, err := call.take(brieflyFor(t, patience/2), m)
			if isError(t, err); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", call.name, err)
			}
		}
		sem.Release(1)
		ok(t, get(t, one))
		ok(t, get(t, none))
		sem.Release(1)
		free(t, m)
		atRest(t, s)
		z.empty(t, p)
	})
}
