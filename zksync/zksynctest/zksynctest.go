// Package zksynctest gives a test a session on a ZooKeeper of its own, in one line.
// It needs nothing but Go: the server is a [zktest.Server] in the test's process.
//
// In a testing/synctest bubble session and server live in virtual time: hours pass at
// once, and a session timeout takes no time. This test checks what a function of the
// program, which works under a lock, does when the lock is lost after three hours:
//
//	func nightly(ctx context.Context, mu *zksync.Mutex, work func(context.Context) error) error {
//		return mu.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return work(ctx) })
//	}
//
//	func TestNightlyStopsWithItsLock(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			s, srv := zksynctest.New(t)
//			err := nightly(t.Context(), zksync.NewMutex(s, "/nightly"), func(ctx context.Context) error {
//				time.Sleep(3 * time.Hour) // the lock is held, and costs no time
//				srv.Expire(s.ID())
//				<-ctx.Done()
//				return ctx.Err()
//			})
//			if !errors.Is(err, zksync.ErrLost) {
//				t.Errorf("error %v, want ErrLost", err)
//			}
//		})
//	}
//
// With the race detector, set GOMAXPROCS=1 for tests in bubbles: on more processors its
// runtime may end the test's process (https://go.dev/issue/78156, Go 1.26).
//
// The server is for the faults that the test makes, and for looking into it: see
// [zktest.Faults] and [zktest.Server]. A test that wants a server with options, or no
// session at all, takes one from [zktest.Run]; a test that wants real ZooKeeper takes
// it from package [github.com/zklocker/go-zksync/zksync/zktest/ensemble].
package zksynctest

import (
	"context"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// patience is far more than a session takes on a server in the same process.
const patience = 30 * time.Second

// New starts a server for a test and opens a session on it, with the options. It
// fails the test if it can't. At the end of the test it closes the session, and then
// the server. An error of that Close is logged, because a fault that the test has left
// can cause one; close the session in the test to check the error.
//
// The server grants session timeouts from one second to ten. For a second session, as
// that of another process, dial the server as New does:
//
//	zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext))
//
// In a testing/synctest bubble call New inside the bubble, with the bubble's T. An
// option that makes the session leave the process, such as another dialer, stops the
// bubble's clock.
func New(t testing.TB, opts ...zksync.DialOption) (*zksync.Session, *zktest.Server) {
	t.Helper()
	srv := zktest.Run(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all := append([]zksync.DialOption{zksync.WithDialContext(srv.DialContext)}, opts...)
	s, err := zksync.Dial(ctx, []string{"127.0.0.1"}, all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Log(err)
		}
	})
	return s, srv
}
