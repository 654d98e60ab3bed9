package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// A function of the tracer's that hangs holds up nobody but its own call, and
// nothing is requested under a lock that others need.
func TestLesson33_NothingBlocksTheConnection(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		p := lockPath(t)
		m, elsewhere := zksync.NewMutex(s, p), zksync.NewMutex(s, lockPath(t))
		for _, name := range []string{"AcquireStart", "Blocked", "HoldStart", "AcquireEnd", "HoldEnd", "ReleaseEnd", "Session"} {
			t.Run(name, func(t *testing.T) {
				stuck, on := make(chan struct{}), make(chan struct{})
				var hung atomic.Bool
				h, err := m.Hold(short(t))
				ok(t, err)
				rec.on(func(at string) {
					if at == name && hung.CompareAndSwap(false, true) {
						close(stuck)
						<-on
					}
				})
				defer rec.on(nil)
				call := async(func() error {
					if name == "Session" {
						return z.expire(s.ID())
					}
					if name == "HoldEnd" || name == "ReleaseEnd" {
						return h.Release(short(t))
					}
					if name == "Blocked" {
						return m.Do(short(t), func(context.Context, *zksync.Hold) error { return nil })
					}
					return zksync.NewMutex(s, p+"-2").Do(short(t), func(context.Context, *zksync.Hold) error { return nil })
				})
				get(t, stuck)
				for range 3 {
					free(t, elsewhere)
				}
				ok(t, s.Ping(short(t)))
				_ = s.Stats()
				close(on)
				h.Release(short(t))
				ok(t, get(t, call))
				atRest(t, s)
			})
		}
		rec.balanced(t)
	})
}

// Close ends every wait; so does a client that was closed under the session.
func TestLesson34_CloseEndsWaits(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		blocker := zksync.NewMutex(z.dial(t), p)
		blocker.Lock()
		for _, call := range calls {
			s := z.dial(t)
			m := zksync.NewMutex(s, p)
			if !call.try {
				waits := make([]<-chan error, 3)
				for i := range waits {
					waits[i] = async(func() error { _, err := call.take(context.Background(), m); return err })
				}
				waiting(t, s, len(waits))
				ok(t, s.Close())
				for _, w := range waits {
					isError(t, get(t, w), zksync.ErrClosed)
				}
			}
			ok(t, s.Close())
			_, err := call.take(context.Background(), m)
			isError(t, err, zksync.ErrClosed)
		}
		lineOf(t, z.raw(t), p, 1)
		blocker.Unlock()
	})
}

// Nothing sleeps on the way to a free lock.
func TestLesson35_NoSleepBeforeAFreeLock(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		best := time.Hour
		for i := range 20 {
			m := zksync.NewMutex(s, fmt.Sprintf("%s-%d", lockPath(t), i)) // each for the first time
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
func TestLesson36_GrantAgainstCancel(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		c := z.raw(t)
		sa := z.dial(t)
		a, b := zksync.NewMutex(sa, p), zksync.NewMutex(z.dial(t), p)
		rounds := 150
		if z.adapted {
			rounds = 30
		}
		won := 0
		for i := range rounds {
			holder := []*zksync.Mutex{a, b}[i%2] // a hand-over, or ZooKeeper's grant
			holder.Lock()
			ctx, cancel := context.WithCancel(context.Background())
			call := calls[[]int{0, 2, 4}[i%3]]
			type outcome struct {
				release func(context.Context) error
				err     error
			}
			result := async(func() outcome { r, err := call.take(ctx, a); return outcome{r, err} })
			waiting(t, sa, 1)
			if holder == b {
				lineOf(t, c, p, 2)
			}
			time.AfterFunc(rand.N(2*time.Millisecond), cancel)
			holder.Unlock()
			o := get(t, result)
			switch {
			case o.err == nil:
				won++
				if n := len(children(t, c, p)); n != 1 {
					t.Fatalf("round %d: granted with %d nodes", i, n)
				}
				if got, err := b.TryLockContext(short(t)); got || err != nil {
					t.Fatalf("round %d: two holders", i)
				}
				if err := o.release(short(t)); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("round %d: %v", i, err)
				}
			case !errors.Is(o.err, context.Canceled):
				t.Fatalf("round %d: %v", i, o.err)
			}
			ok(t, b.LockContext(short(t)))
			ok(t, b.UnlockContext(short(t)))
			atRest(t, sa)
			lineOf(t, c, p, 0)
		}
		t.Logf("%d of %d granted", won, rounds)
	})
}
