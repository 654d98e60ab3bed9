package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Shutdown refuses who waits, and lets those finish who hold.
func TestFamilyShutdown(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		s := z.Dial(t)
		rw, sem := zksync.NewRWMutex(s, p), zksync.NewSemaphore(s, p+"-2", 2)
		multi := zksync.NewMulti(rw, zksync.NewMutex(s, p+"-3"))
		o := zksync.NewOwner("o")
		rw.RLock()
		rw.RLocker().As(o).Lock()
		suite.Must(t, sem.Acquire(ctx, 2))
		queued := make(chan struct{})
		waits := map[string]<-chan error{
			"write":   suite.Async(func() error { return rw.LockContext(ctx) }),
			"multi":   suite.Async(func() error { return multi.LockContext(ctx) }),
			"permits": suite.Async(func() error { return sem.Acquire(ctx, 1) }),
			"nothing": suite.Async(func() error {
				<-queued // behind those that wait for permits
				return sem.Acquire(ctx, 0)
			}),
			"more than there are": suite.Async(func() error { return sem.Acquire(ctx, 3) }),
		}
		suite.AwaitWaiting(t, s, 3)
		close(queued)
		suite.SleepReal(20 * time.Millisecond)
		over := suite.Async(func() error { return s.Shutdown(ctx) })
		for name, w := range waits {
			if err := suite.Receive(t, w); !errors.Is(err, zksync.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		suite.IsError(t, rw.RLockContext(ctx), zksync.ErrClosed) // though it could share
		suite.IsError(t, sem.Acquire(ctx, 1), zksync.ErrClosed)
		suite.IsError(t, sem.Acquire(ctx, 0), zksync.ErrClosed)
		suite.Must(t, rw.RLocker().As(o).LockContext(ctx)) // who holds may enter again
		suite.NotYet(t, over)
		for range 2 {
			rw.RLocker().As(o).Unlock()
		}
		rw.RUnlock()
		sem.Release(1)
		suite.NotYet(t, over)
		sem.Release(1)
		suite.Must(t, suite.Receive(t, over))
		for _, p := range []string{p, p + "-2", p + "-3"} {
			z.Empty(t, p)
		}
	})
}

// Shutdown: what waits with a context ends, holders and Lock finish, then the
// session closes.
func TestShutdown(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		ctx := suite.Context(t)
		var wg sync.WaitGroup
		in, out := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			err := m.Do(zksync.WithOwner(ctx, zksync.NewOwner("o")), func(ctx context.Context, h *zksync.Hold) error {
				close(in)
				<-out
				// A holder may enter again until it has finished.
				if err := m.LockContext(ctx); err != nil {
					return err
				}
				m.Unlock()
				return h.Err()
			})
			if err != nil {
				t.Error(err)
			}
		})
		suite.Receive(t, in)
		var waits []<-chan error
		for _, call := range suite.Calls {
			if !call.Try {
				waits = append(waits, suite.Async(func() error { _, err := call.Take(ctx, m); return err }))
				suite.AwaitWaiting(t, s, len(waits))
			}
		}
		locked := make(chan struct{})
		wg.Go(func() {
			m.Lock()
			close(locked)
			m.Unlock()
		})
		suite.AwaitWaiting(t, s, len(waits)+1)

		soon, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, suite.ErrCause)
		defer cancel()
		e := suite.IsError(t, s.Shutdown(soon), context.DeadlineExceeded, suite.ErrCause)
		if e.Op != "shutdown" {
			t.Errorf("%#v", e)
		}
		for _, w := range waits {
			suite.IsError(t, suite.Receive(t, w), zksync.ErrClosed)
		}
		for _, call := range suite.Calls {
			_, err := call.Take(ctx, m)
			suite.IsError(t, err, zksync.ErrClosed)
		}
		if m.TryLock() {
			t.Error("TryLock while shutting down")
		}
		down := suite.Async(func() error { return s.Shutdown(ctx) })
		close(out)
		suite.Receive(t, locked) // Lock() has gone its way
		suite.Must(t, suite.Receive(t, down))
		wg.Wait()
		suite.PanicsWith(t, m.Lock, zksync.ErrClosed)
		suite.IsError(t, s.Ping(ctx), zksync.ErrClosed)
		suite.Must(t, s.Shutdown(ctx))
		suite.Must(t, s.Close())
		z.Empty(t, p)
	}, suite.Timeless)
}

// Shutdown waits for a lock that is being given back, whichever function of the
// tracer its release is in, and deletes its node in time: that takes longer than all
// of Close.
func TestShutdownBesideASlowTracer(t *testing.T) {
	for _, at := range []string{"HoldEnd", "ReleaseStart", "ReleaseEnd"} {
		for _, first := range []string{"unlock", "shutdown"} {
			t.Run(fmt.Sprintf("%s, %s first", at, first), func(t *testing.T) {
				suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
					srv := z.Server
					rec, in := suite.NewRecorder(t), make(chan struct{}, 1)
					s := z.Via(t, srv.Dial, zksync.WithTracer(rec.Tracer()))
					rec.On(func(name string) {
						if name == at {
							in <- struct{}{}
							time.Sleep(closeLimit + time.Second)
						}
					})
					m := zksync.NewMutex(s, "/l")
					suite.Must(t, m.LockContext(suite.Context(t)))
					unlock := func() error { return m.UnlockContext(context.Background()) }
					shutdown := func() error { return s.Shutdown(context.Background()) }
					var unlocked, shut <-chan error
					if first == "unlock" {
						unlocked = suite.Async(unlock)
						<-in
						shut = suite.Async(shutdown)
					} else {
						shut = suite.Async(shutdown)
						time.Sleep(time.Second)
						unlocked = suite.Async(unlock)
						<-in
					}
					start := time.Now()
					suite.Must(t, suite.Receive(t, shut))
					if d := time.Since(start); d > closeLimit {
						t.Errorf("Shutdown took %v", d)
					}
					if left := srv.Children("/l"); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
					suite.Must(t, suite.Receive(t, unlocked))
					rec.Tells(t, "all is told", func() bool { return rec.Events[len(rec.Events)-1].State == zksync.StateClosed })
					rec.Balanced(t)
					suite.AtRest(t, s)
				})
			})
		}
	}
}

// Several permits that are given back at once are all given back, whatever the tracer does
// when the tracer reports the first.
func TestReleaseOfPermitsOutlastsAPanicOfTheTracer(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial, zksync.WithTracer(&zksync.Tracer{
			ReleaseStart: func(context.Context, zksync.AcquireInfo) context.Context { panic(suite.ErrCause) },
		}))
		sem := zksync.NewSemaphore(s, "/l", 3)
		for range 3 {
			suite.Must(t, sem.Acquire(suite.Context(t), 1))
		}
		if p := suite.PanicOf(func() { sem.Release(3) }); p != suite.ErrCause {
			t.Errorf("panic %v", p)
		}
		suite.NobodyIn(t, srv, s, "/l")
		if !sem.TryAcquire(3) {
			t.Error("the permits are gone")
		}
		suite.PanicOf(func() { sem.Release(3) })
		suite.NobodyIn(t, srv, s, "/l")
	})
}
