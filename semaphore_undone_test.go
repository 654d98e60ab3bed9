package zksync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// A call that has been granted its permits may fail after all. What is released
// meanwhile, by somebody else, is not paid with them.
func TestReleaseBesideACallThatFailsAfterItsGrant(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		var sem *zksync.Semaphore
		var fails atomic.Bool
		s := z.dial(t, zksync.WithTracer(&zksync.Tracer{AcquireEnd: func(context.Context, zksync.Acquire, zksync.Result) {
			if fails.CompareAndSwap(true, false) {
				sem.Release(1) // the permit of the call before
				panic("boom")
			}
		}}))
		sem = zksync.NewSemaphore(s, lockPath(t), 3)
		ok(t, sem.Acquire(short(t), 1))
		fails.Store(true)
		panics(t, "boom", func() { _ = sem.Acquire(short(t), 2) })
		atRest(t, s)
		ok(t, sem.Acquire(short(t), 3))
		sem.Release(3)
	})
}
