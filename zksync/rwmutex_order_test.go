package zksync_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The order of readers and writers, and which of them exclude each other.

// Readers in two sessions come and go so that one of them is always in. Writers,
// of a third session and of one of theirs, get in all the same.
func TestWritersDontStarve(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const goroutines, writes = 6, 3
		ctx, p := suite.Context(t), z.Path(t)
		var inside, reads atomic.Int64
		var stop atomic.Bool
		var readers, writers sync.WaitGroup
		sessions := []*zksync.Session{z.Dial(t), z.Dial(t)}
		for _, s := range sessions {
			rw := zksync.NewRWMutex(s, p)
			for range goroutines {
				readers.Go(func() {
					for !stop.Load() {
						if err := rw.RLockContext(ctx); err != nil {
							t.Error(err)
							return
						}
						inside.Add(1)
						reads.Add(1)
						time.Sleep(2 * time.Millisecond)
						inside.Add(-1)
						rw.RUnlock()
					}
				})
			}
		}
		suite.Eventually(t, "the readers are many", func() bool { return reads.Load() > 4*goroutines })
		for _, s := range []*zksync.Session{z.Dial(t), sessions[0]} {
			rw := zksync.NewRWMutex(s, p)
			writers.Go(func() {
				for range writes {
					start := time.Now()
					bounded, cancel := context.WithTimeout(ctx, suite.Patience)
					err := rw.LockContext(bounded)
					cancel()
					if err != nil {
						t.Errorf("a writer starves: %v", err)
						return
					}
					if n := inside.Load(); n != 0 {
						t.Errorf("a writer beside %d readers", n)
					}
					t.Logf("a writer waited %v", time.Since(start).Round(time.Millisecond))
					rw.Unlock()
				}
			})
		}
		writers.Wait()
		before := reads.Load()
		suite.Eventually(t, "the readers don't starve, either", func() bool { return reads.Load() > before+2*goroutines })
		stop.Store(true)
		readers.Wait()
		for _, s := range sessions {
			suite.AtRest(t, s)
		}
		z.Empty(t, p)
	})
}

// An owner that reads enters again, by every call, while writers wait here and
// elsewhere, who would otherwise keep it out for ever.
func TestReadersReenter(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("o")
		mine := rw.RLocker().As(o)
		suite.Must(t, mine.LockContext(ctx))
		node := suite.NodeOf(t, raw, p, s)
		here := suite.Async(func() error { return rw.LockContext(ctx) })
		there := suite.Async(func() error { return zksync.NewRWMutex(other, p).LockContext(ctx) })
		suite.InLine(t, raw, p, 3)
		stranger := suite.Async(func() error { return rw.RLockContext(ctx) })
		suite.AwaitWaiting(t, s, 2)
		octx := zksync.WithOwner(ctx, o)
		var back []func(context.Context) error
		for _, call := range suite.Calls {
			for _, l := range []zksync.Locker{mine, rw.RLocker()} {
				release, err := call.Take(octx, l)
				suite.Must(t, err)
				back = append(back, release)
			}
		}
		if !mine.TryLock() {
			t.Error("TryLock for the owner")
		}
		mine.Lock()
		back = append(back, mine.UnlockContext, mine.UnlockContext)
		suite.Must(t, rw.RLocker().Do(octx, func(ctx context.Context, h *zksync.Hold) error {
			if h.Node() != node {
				t.Errorf("node %s, was %s", h.Node(), node)
			}
			if err := rw.RLockContext(ctx); err != nil {
				return err
			}
			return rw.RUnlockContext(ctx)
		}))
		for _, release := range back {
			suite.Must(t, release(octx))
		}
		suite.InLine(t, raw, p, 3)
		suite.NotYet(t, here)
		suite.NotYet(t, there)
		suite.NotYet(t, stranger)
		mine.Unlock()
		for range 2 {
			select {
			case err := <-here:
				suite.Must(t, err)
				rw.Unlock()
			case err := <-there:
				suite.Must(t, err)
				zksync.NewRWMutex(other, p).Unlock()
			case <-time.After(suite.Patience):
				t.Fatal("a writer waits on")
			}
		}
		suite.Must(t, suite.Receive(t, stranger))
		rw.RUnlock()
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// A Mutex and an RWMutex on one path exclude each other, in one session and
// between two.
func TestMutexAndRWMutexOnOnePath(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, other := suite.Context(t), z.Dial(t), z.Dial(t)
		for name, second := range map[string]*zksync.Session{"one session": s, "two sessions": other} {
			t.Run(name, func(t *testing.T) {
				p := z.Path(t)
				sides := func(s *zksync.Session) map[string]zksync.Locker {
					rw := zksync.NewRWMutex(s, p)
					return map[string]zksync.Locker{"mutex": zksync.NewMutex(s, p), "write": rw, "read": rw.RLocker()}
				}
				for name, held := range sides(s) {
					for other, wanted := range sides(second) {
						together := name == "read" && other == "read"
						for _, call := range suite.Calls[:4] {
							release, err := call.Take(ctx, held)
							suite.Must(t, err)
							h, err := wanted.TryHold(ctx)
							switch {
							case err == nil && together:
								err = h.Release(ctx)
							case errors.Is(err, zksync.ErrBusy) && !together:
								err = nil
							}
							if err != nil || h != nil && !together {
								t.Errorf("%s by %s beside %s: %v", other, call.Name, name, err)
							}
							if together {
								suite.Must(t, release(ctx))
								continue
							}
							waits := suite.Async(func() error { return wanted.LockContext(ctx) })
							suite.Eventually(t, "it waits", func() bool { return s.Stats().Waiting+second.Stats().Waiting > 0 })
							select {
							case <-waits:
								t.Errorf("%s beside %s", other, name)
							case <-time.After(5 * time.Millisecond):
							}
							suite.Must(t, release(ctx))
							suite.Must(t, suite.Receive(t, waits))
							suite.Must(t, wanted.UnlockContext(ctx))
						}
					}
				}
				suite.AtRest(t, s)
				z.Empty(t, p)
			})
		}
	})
}
