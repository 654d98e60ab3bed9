package zksynctest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zksynctest"
)

// The package's comment and the README show this function with its test.

func nightly(ctx context.Context, mu *zksync.Mutex, work func(context.Context) error) error {
	return mu.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return work(ctx) })
}

func TestNightlyStopsWithItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, srv := zksynctest.New(t)
		err := nightly(t.Context(), zksync.NewMutex(s, "/nightly"), func(ctx context.Context) error {
			time.Sleep(3 * time.Hour) // the lock is held, and costs no time
			srv.Expire(s.ID())
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, zksync.ErrLost) {
			t.Errorf("error %v, want ErrLost", err)
		}
	})
}

// The other process has a session of its own, on the same server.
func ExampleNew() {
	var t *testing.T // of the test function, such as TestOneProcessAtATime(t *testing.T)

	s, srv := zksynctest.New(t)
	other, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	zksync.NewMutex(s, "/job").Lock()
	if zksync.NewMutex(other, "/job").TryLock() {
		t.Error("both have the lock")
	}
}
