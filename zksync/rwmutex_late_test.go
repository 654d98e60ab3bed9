package zksync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The read node of a writer that came too late for its call is deleted, and Shutdown
// waits for that: the lock stays in use as long as the deletion is on its way.
func TestLateDowngradeKeepsItsLock(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		const delay = time.Second
		srv := z.Server
		s := z.Dial(t, zksync.WithSessionTimeout(time.Minute))
		rw := zksync.NewRWMutex(s, "/l")
		owned := zksync.WithOwner(t.Context(), zksync.NewOwner(""))
		suite.Must(t, rw.LockContext(owned))
		srv.Delay(delay)
		// The call ends when the read node has been made, and before that is known.
		ctx, cancel := context.WithTimeout(owned, 3*delay/2)
		defer cancel()
		if err := rw.RLockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n := len(srv.Children("/l")); n != 2 {
			t.Fatalf("%d nodes, want those of the write and of the read lock", n)
		}
		over := make(chan error, 1)
		go func() { over <- rw.UnlockContext(owned) }()
		time.Sleep(delay)
		if got := s.Stats().CleanupPending; got == 0 {
			t.Error("no deletion is on its way")
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-over; err != nil {
			t.Error(err)
		}
		if nodes := srv.Children("/l"); len(nodes) != 0 {
			t.Errorf("Shutdown has left %v", nodes)
		}
	})
}
