package lessons_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A function of the tracer's that hangs holds up nobody but its own call, and
// nothing is requested under a lock that others need.
func TestNothingBlocksTheConnection(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		p := z.Path(t)
		m, elsewhere := zksync.NewMutex(s, p), zksync.NewMutex(s, z.Path(t))
		for _, name := range []string{"AcquireStart", "Blocked", "HoldStart", "AcquireEnd", "HoldEnd", "ReleaseEnd", "Session"} {
			t.Run(name, func(t *testing.T) {
				stuck, on := make(chan struct{}), make(chan struct{})
				var hung atomic.Bool
				h, err := m.Hold(suite.Context(t))
				suite.Must(t, err)
				rec.On(func(at string) {
					if at == name && hung.CompareAndSwap(false, true) {
						close(stuck)
						<-on
					}
				})
				defer rec.On(nil)
				call := suite.Async(func() error {
					if name == "Session" {
						return z.Expire(s.ID())
					}
					if name == "HoldEnd" || name == "ReleaseEnd" {
						return h.Release(suite.Context(t))
					}
					if name == "Blocked" {
						return m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { return nil })
					}
					return zksync.NewMutex(s, p+"-2").Do(suite.Context(t), func(context.Context, *zksync.Hold) error { return nil })
				})
				suite.Receive(t, stuck)
				for range 3 {
					suite.LockAndUnlock(t, elsewhere)
				}
				suite.Must(t, s.Ping(suite.Context(t)))
				_ = s.Stats()
				close(on)
				h.Release(suite.Context(t))
				suite.Must(t, suite.Receive(t, call))
				suite.AtRest(t, s)
			})
		}
		rec.Balanced(t)
	})
}

// Close ends every wait; so does a client that was closed under the session.
func TestCloseEndsWaits(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		blocker := zksync.NewMutex(z.Dial(t), p)
		blocker.Lock()
		for _, call := range suite.Calls {
			s := z.Dial(t)
			m := zksync.NewMutex(s, p)
			if !call.Try {
				waits := make([]<-chan error, 3)
				for i := range waits {
					waits[i] = suite.Async(func() error { _, err := call.Take(context.Background(), m); return err })
				}
				suite.AwaitWaiting(t, s, len(waits))
				suite.Must(t, s.Close())
				for _, w := range waits {
					suite.IsError(t, suite.Receive(t, w), zksync.ErrClosed)
				}
			}
			suite.Must(t, s.Close())
			_, err := call.Take(context.Background(), m)
			suite.IsError(t, err, zksync.ErrClosed)
		}
		suite.InLine(t, z.Raw(t), p, 1)
		blocker.Unlock()
	}, suite.Timeless)
}

// Nothing sleeps on the way to a free lock.
func TestNoSleepBeforeAFreeLock(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		best := time.Hour
		for i := range 20 {
			m := zksync.NewMutex(s, fmt.Sprintf("%s-%d", z.Path(t), i)) // each for the first time
			start := time.Now()
			m.Lock()
			m.Unlock() // that is all
			best = min(best, time.Since(start))
		}
		if best > 50*time.Millisecond {
			t.Errorf("a free lock takes %v at best", best)
		}
	})
}

// A grant that races with the end of the ctx is one or the other: nil with a
// node, or an error with none; and the next in line gets it.
func TestGrantAgainstCancel(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		c := z.Raw(t)
		sa := z.Dial(t)
		a, b := zksync.NewMutex(sa, p), zksync.NewMutex(z.Dial(t), p)
		rounds := 150
		if z.Adapted {
			rounds = 30
		}
		won := 0
		for i := range rounds {
			holder := []*zksync.Mutex{a, b}[i%2] // a hand-over, or ZooKeeper's grant
			holder.Lock()
			ctx, cancel := context.WithCancel(context.Background())
			call := suite.Calls[[]int{0, 2, 4}[i%3]]
			type outcome struct {
				release func(context.Context) error
				err     error
			}
			result := suite.Async(func() outcome { r, err := call.Take(ctx, a); return outcome{r, err} })
			suite.AwaitWaiting(t, sa, 1)
			if holder == b {
				suite.InLine(t, c, p, 2)
			}
			time.AfterFunc(rand.N(2*time.Millisecond), cancel)
			holder.Unlock()
			o := suite.Receive(t, result)
			switch {
			case o.err == nil:
				won++
				if n := len(suite.Children(t, c, p)); n != 1 {
					t.Fatalf("round %d: granted with %d nodes", i, n)
				}
				if got, err := b.TryLockContext(suite.Context(t)); got || err != nil {
					t.Fatalf("round %d: two holders", i)
				}
				if err := o.release(suite.Context(t)); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("round %d: %v", i, err)
				}
			case !errors.Is(o.err, context.Canceled):
				t.Fatalf("round %d: %v", i, o.err)
			}
			suite.Must(t, b.LockContext(suite.Context(t)))
			suite.Must(t, b.UnlockContext(suite.Context(t)))
			suite.AtRest(t, sa)
			suite.InLine(t, c, p, 0)
		}
		t.Logf("%d of %d granted", won, rounds)
	}, suite.Timeless)
}
