package zksync_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Shutdown waits for a lock that is being given back, whichever function of the
// tracer its release is in, and deletes its node in time: that takes longer than all
// of Close.
func TestShutdownBesideASlowTracer(t *testing.T) {
	for _, at := range []string{"HoldEnd", "ReleaseStart", "ReleaseEnd"} {
		for _, first := range []string{"unlock", "shutdown"} {
			t.Run(fmt.Sprintf("%s, %s first", at, first), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
					rec, in := new(recorder), make(chan struct{}, 1)
					s, err := zksync.Dial(short(t), []string{"10.0.0.1"}, zksync.WithDialer(srv.Dial),
						zksync.WithSessionTimeout(virtualTimeout), zksync.WithTracer(rec.tracer()))
					ok(t, err)
					t.Cleanup(func() { s.Close() })
					rec.on(func(name string) {
						if name == at {
							in <- struct{}{}
							time.Sleep(closeLimit + time.Second)
						}
					})
					m := zksync.NewMutex(s, "/l")
					ok(t, m.LockContext(short(t)))
					unlock := func() error { return m.UnlockContext(context.Background()) }
					shutdown := func() error { return s.Shutdown(context.Background()) }
					var unlocked, shut <-chan error
					if first == "unlock" {
						unlocked = async(unlock)
						<-in
						shut = async(shutdown)
					} else {
						shut = async(shutdown)
						time.Sleep(time.Second)
						unlocked = async(unlock)
						<-in
					}
					start := time.Now()
					ok(t, get(t, shut))
					if d := time.Since(start); d > closeLimit {
						t.Errorf("Shutdown took %v", d)
					}
					if left := srv.Children("/l"); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
					ok(t, get(t, unlocked))
					rec.tells(t, "all is told", func() bool { return rec.events[len(rec.events)-1].State == zksync.StateClosed })
					rec.balanced(t)
					atRest(t, s)
				})
			})
		}
	}
}

// Of several permits that are given back at once, each is, whatever the tracer does
// when it is told of the first.
func TestReleaseOfPermitsOutlastsAPanicOfTheTracer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial, zksync.WithTracer(&zksync.Tracer{
			ReleaseStart: func(context.Context, zksync.Acquire) context.Context { panic(errCause) },
		}))
		sem := zksync.NewSemaphore(s, "/l", 3)
		for range 3 {
			ok(t, sem.Acquire(short(t), 1))
		}
		if p := panicOf(func() { sem.Release(3) }); p != errCause {
			t.Errorf("panic %v", p)
		}
		nobodyIn(t, srv, s, "/l")
		if !sem.TryAcquire(3) {
			t.Error("the permits are gone")
		}
		panicOf(func() { sem.Release(3) })
		nobodyIn(t, srv, s, "/l")
	})
}
