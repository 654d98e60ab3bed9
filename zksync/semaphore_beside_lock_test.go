package zksync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A lock that waits behind a permit goes on waiting when a part of the permit is given
// back: the node that stood for all of it goes, and one for the rest takes its place.
func TestLockWaitsBehindTheRestOfAPermit(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		permits := zksync.NewSemaphore(z.Dial(t), "/l", 3)
		suite.Must(t, permits.Acquire(t.Context(), 2))
		granted := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m := zksync.NewMutex(z.Dial(t), "/l")
		go func() { granted <- m.LockContext(ctx) }()
		synctest.Wait()
		permits.Release(1)
		synctest.Wait()
		select {
		case err := <-granted:
			t.Fatalf("the lock was granted beside a permit: %v", err)
		default:
		}
		permits.Release(1)
		suite.Must(t, <-granted)
		m.Unlock()
	})
}
