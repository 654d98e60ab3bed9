package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Permits of none are refused on a path that is a lock's, as others are, and leave
// its line alone.
func TestNoPermitsOnALock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m, sem := zksync.NewMutex(s, p), zksync.NewSemaphore(s, p, 1)
		refused := func() {
			t.Helper()
			for _, n := range []int64{0, 1} {
				e := suite.IsError(t, suite.Receive(t, suite.Async(func() error { return sem.Acquire(suite.BrieflyFor(t, suite.Patience/2), n) })))
				if errors.Is(e, context.DeadlineExceeded) || e.Err.Error() != "another value for this path is in use: a path is a semaphore's or a lock's" {
					t.Errorf("Acquire of %d: %v", n, e)
				}
				if sem.TryAcquire(n) {
					t.Errorf("TryAcquire of %d on a lock", n)
				}
			}
		}
		suite.Must(t, sem.Acquire(suite.Context(t), 0))
		m.Lock()
		refused()
		second := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 1)
		refused()
		m.Unlock()
		suite.Must(t, suite.Receive(t, second))
		if n := len(suite.Children(t, z.Raw(t), p)); n != 1 {
			t.Errorf("%d nodes in line for one holder", n)
		}
		m.Unlock()

		// As a part of a Multi alone, whether it is held or waited for.
		for _, other := range []zksync.Locker{m, zksync.NewRWMutex(s, p).RLocker()} {
			mu := zksync.NewMulti(other, zksync.NewMutex(s, p+"-2"))
			mu.Lock()
			refused()
			mu.Unlock()
			held := zksync.NewMutex(z.Dial(t), p)
			held.Lock()
			got := suite.Async(func() error { return mu.LockContext(suite.Context(t)) })
			suite.AwaitWaiting(t, s, 1)
			refused()
			held.Unlock()
			suite.Must(t, suite.Receive(t, got))
			mu.Unlock()
			suite.Must(t, sem.Acquire(suite.Context(t), 0)) // it is nobody's now
			suite.Must(t, sem.Acquire(suite.Context(t), 1))
			sem.Release(1)
		}

		// More than there are wait, on a lock's path, too.
		m.Lock()
		err := suite.Receive(t, suite.Async(func() error { return sem.Acquire(suite.BrieflyFor(t, suite.Patience/50), 2) }))
		if err != context.DeadlineExceeded {
			t.Errorf("Acquire of more than the limit: %v", err)
		}
		m.Unlock()

		// The other way round.
		suite.Must(t, sem.Acquire(suite.Context(t), 1))
		one := suite.Async(func() error { return sem.Acquire(suite.Context(t), 1) })
		suite.AwaitWaiting(t, s, 1)
		none := suite.Async(func() error { return sem.Acquire(suite.Context(t), 0) })
		for _, call := range suite.Calls {
			_, err := call.Take(suite.BrieflyFor(t, suite.Patience/2), m)
			if suite.IsError(t, err); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", call.Name, err)
			}
		}
		sem.Release(1)
		suite.Must(t, suite.Receive(t, one))
		suite.Must(t, suite.Receive(t, none))
		sem.Release(1)
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless, suite.Smoke)
}
