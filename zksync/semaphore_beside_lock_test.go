package zksync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A lock that waits behind a permit goes on waiting when a part of the permit is given
// back: the node that stood for all of it goes, and one for the rest takes its place.
func TestLockWaitsBehindTheRestOfAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		dial := func() *zksync.Session {
			s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, zksync.WithDialContext(srv.DialContext))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		}
		permits := zksync.NewSemaphore(dial(), "/l", 3)
		if err := permits.Acquire(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		granted := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		m := zksync.NewMutex(dial(), "/l")
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
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
		m.Unlock()
	})
}
