package zksync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A call that has been granted its permits may fail after all. What is released
// meanwhile, by somebody else, is not paid with them.
func TestReleaseBesideACallThatFailsAfterItsGrant(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var sem *zksync.Semaphore
		var fails atomic.Bool
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{AcquireEnd: func(context.Context, zksync.AcquireInfo, zksync.AcquireEndInfo) {
			if fails.CompareAndSwap(true, false) {
				sem.Release(1) // the permit of the call before
				panic("boom")
			}
		}}))
		sem = zksync.NewSemaphore(s, z.Path(t), 3)
		suite.Must(t, sem.Acquire(suite.Context(t), 1))
		fails.Store(true)
		suite.Panics(t, "boom", func() { _ = sem.Acquire(suite.Context(t), 2) })
		suite.AtRest(t, s)
		suite.Must(t, sem.Acquire(suite.Context(t), 3))
		sem.Release(3)
	})
}
