package zksync_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// An owner that writes may read, by plain calls: when it has stopped writing
// other readers get in, and no writer.
func TestDowngradePlain(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		w.Lock()
		r.Lock()
		r.Lock()
		suite.InLine(t, raw, p, 2)
		w.Lock() // it writes still
		w.Unlock()
		reads := suite.Async(func() error { return rw.RLockContext(ctx) })
		suite.AwaitWaiting(t, s, 1)
		suite.NotYet(t, reads)
		w.Unlock()
		suite.Must(t, suite.Receive(t, reads))
		if taken, err := elsewhere.RLocker().TryLockContext(ctx); !taken || err != nil {
			t.Errorf("a reader elsewhere: %v, %v", taken, err)
		}
		elsewhere.RUnlock()
		if rw.TryLock() || elsewhere.TryLock() {
			t.Error("a writer beside readers")
		}
		suite.IsError(t, w.LockContext(ctx), zksync.ErrDeadlock)
		rw.RUnlock()
		r.Unlock()
		if elsewhere.TryLock() {
			t.Error("a writer beside the reader that is left")
		}
		r.Unlock()
		suite.Panics(t, "zksync: RUnlock of a lock that is not locked for reading", r.Unlock)

		// In the other order: reading first is given back first.
		w.Lock()
		r.Lock()
		r.Unlock()
		if elsewhere.TryLock() || elsewhere.RLocker().TryLock() || rw.TryRLock() {
			t.Error("beside a writer")
		}
		w.Unlock()
		suite.LockAndUnlock(t, elsewhere)
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// A writer of the session that waits for a hand-over, and so has no node, stands
// in line once the holder reads as well: the node it waited for goes.
func TestDowngradeBesideAHandOver(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		for _, readFirst := range []bool{false, true} {
			w.Lock()
			next := suite.Async(func() error { return rw.LockContext(ctx) })
			suite.AwaitWaiting(t, s, 1)
			suite.InLine(t, raw, p, 1)
			if !r.TryLock() {
				t.Fatal("a writer reads")
			}
			suite.InLine(t, raw, p, 3)
			if readFirst {
				suite.Must(t, r.UnlockContext(ctx))
				suite.NotYet(t, next)
				suite.Must(t, w.UnlockContext(ctx))
			} else {
				suite.Must(t, w.UnlockContext(ctx))
				suite.NotYet(t, next)
				suite.Must(t, r.UnlockContext(ctx))
			}
			suite.Must(t, suite.Receive(t, next))
			rw.Unlock()
			suite.AtRest(t, s)
			z.Empty(t, p)
		}
	})
}

// One of the two nodes of an owner that writes and reads is deleted: the other
// lock stays, and still excludes the others.
func TestDowngradeAndALoss(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, raw := suite.Context(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		for _, write := range []bool{true, false} {
			p := z.Path(t)
			rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
			o := zksync.NewOwner("o")
			w, err := rw.As(o).Hold(ctx)
			suite.Must(t, err)
			r, err := rw.RLocker().As(o).Hold(ctx)
			suite.Must(t, err)
			gone, stays := w, r
			if !write {
				gone, stays = r, w
			}
			held := gone.Context(ctx)
			suite.Must(t, raw.Delete(gone.Node(), -1))
			suite.Receive(t, held.Done())
			suite.IsError(t, gone.Release(ctx), zksync.ErrLost)
			suite.Must(t, stays.Err())
			if elsewhere.TryLock() || rw.TryLock() {
				t.Error("a writer beside the lock that stays")
			}
			for name, l := range map[string]zksync.Locker{"here": rw.RLocker(), "elsewhere": elsewhere.RLocker()} {
				if got := l.TryLock(); got != write {
					t.Errorf("a reader %s beside the lock that stays: %v", name, got)
				} else if got {
					l.Unlock()
				}
			}
			suite.Must(t, stays.Release(ctx))
			suite.LockAndUnlock(t, elsewhere)
			suite.LockAndUnlock(t, rw.As(o))
			suite.AtRest(t, s)
			z.Empty(t, p)
		}
	})
}

// A read lock that the function of Do takes under its write lock is still held after Do.
// One that it takes under a read lock is the same lock.
func TestDowngradeInDo(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := zksync.WithOwner(suite.Context(t), zksync.NewOwner("o")), z.Path(t)
		s, other := z.Dial(t), z.Dial(t)
		rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
		suite.Must(t, rw.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
			return rw.RLocker().Do(ctx, func(ctx context.Context, r *zksync.Hold) error {
				if r.Fence() != h.Fence() {
					t.Errorf("fence %d under fence %d", r.Fence(), h.Fence())
				}
				return rw.RLockContext(ctx)
			})
		}))
		if elsewhere.TryLock() || !elsewhere.TryRLock() {
			t.Error("it is not read")
		}
		elsewhere.RUnlock()
		suite.Must(t, rw.RUnlockContext(ctx))
		suite.LockAndUnlock(t, elsewhere)
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// A reader that gives up passes its place in line on to those who share it.
func TestReadersKeepTheirPlace(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, before, behind := z.Dial(t), z.Dial(t), z.Dial(t)
		rw := zksync.NewRWMutex(s, p)
		first := zksync.NewRWMutex(before, p)
		first.Lock()
		gone, cancel := context.WithCancel(ctx)
		one := suite.Async(func() error { return rw.RLockContext(gone) })
		suite.InLine(t, raw, p, 2)
		two := suite.Async(func() error { return rw.RLockContext(ctx) })
		suite.AwaitWaiting(t, s, 2)
		last := suite.Async(func() error { return zksync.NewRWMutex(behind, p).LockContext(ctx) })
		suite.InLine(t, raw, p, 3)
		// With a handle, a node of its own, which goes with the call.
		other, stop := context.WithCancel(ctx)
		held := suite.Async(func() error { _, err := rw.RLocker().Hold(other); return err })
		suite.InLine(t, raw, p, 4)
		stop()
		suite.IsError(t, suite.Receive(t, held), context.Canceled)
		suite.InLine(t, raw, p, 3)
		cancel()
		suite.IsError(t, suite.Receive(t, one), context.Canceled)
		suite.InLine(t, raw, p, 3)
		first.Unlock()
		suite.Must(t, suite.Receive(t, two)) // before the writer who came after it
		suite.NotYet(t, last)
		rw.RUnlock()
		suite.Must(t, suite.Receive(t, last))
		zksync.NewRWMutex(behind, p).Unlock()
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Whether the request that makes the read node succeeds, fails or gets no answer, either
// the owner has the read lock or no node is left. The write lock stays.
func TestDowngradeExits(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p, raw := z.Path(t), z.Raw(t)
		proxy, s := z.Behind(t)
		rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(z.Dial(t), p)
		o := zksync.NewOwner("o")
		r := rw.RLocker().As(o)
		for _, call := range suite.Calls {
			w, err := rw.As(o).Hold(suite.Context(t))
			suite.Must(t, err)
			part := func(what string, release func(context.Context) error, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s, %s: %v", call.Name, what, err)
				}
				suite.InLine(t, raw, p, 2)
				suite.Must(t, release(suite.Context(t)))
				writeNodeLeft(t, s, raw, p)
				suite.Must(t, w.Err())
			}
			isMulti := func(f ensemble.Frame) bool {
				return f.Op == "multi" && bytes.Contains(f.Payload, []byte("__READ__"))
			}
			// The answer is lost: it is seen by the request being in vain again.
			var asked atomic.Int32
			var once sync.Once
			proxy.SetHook(func(f ensemble.Frame) (act ensemble.Action) {
				if !f.FromServer && isMulti(f) {
					asked.Store(f.Xid)
				}
				if f.FromServer && f.Xid > 0 && f.Xid == asked.Load() {
					once.Do(func() { act = ensemble.DropAndDisconnect })
				}
				return act
			})
			release, err := call.Take(suite.Context(t), r)
			proxy.SetHook(nil)
			part("the answer lost", release, err)

			// The call ends while the request is under way.
			ctx, cancel := context.WithCancelCause(suite.Context(t))
			on := make(chan struct{})
			proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
				if !f.FromServer && isMulti(f) {
					cancel(suite.ErrCause)
					<-on
				}
				return ensemble.Pass
			})
			_, err = call.Take(ctx, r)
			suite.IsError(t, err, context.Canceled, suite.ErrCause)
			proxy.SetHook(nil)
			close(on)
			writeNodeLeft(t, s, raw, p)
			suite.Must(t, w.Err())
			release, err = call.Take(suite.Context(t), r)
			part("again", release, err)

			// Cut off meanwhile.
			suite.CutOffUntilKnown(t, proxy, s)
			type result struct {
				release func(context.Context) error
				err     error
			}
			got := suite.Async(func() result {
				release, err := call.Take(suite.Context(t), r)
				return result{release, err}
			})
			suite.SleepReal(20 * time.Millisecond)
			proxy.Heal()
			res := suite.Receive(t, got)
			part("cut off", res.release, res.err)

			// Lost meanwhile.
			suite.CutOffUntilKnown(t, proxy, s)
			got = suite.Async(func() result {
				release, err := call.Take(suite.Context(t), r)
				return result{release, err}
			})
			suite.SleepReal(20 * time.Millisecond)
			suite.Must(t, z.Expire(s.ID()))
			proxy.Heal()
			// A hold that is lost is nobody's any more: then it may also be a lock
			// of its own.
			if res := suite.Receive(t, got); res.err == nil {
				suite.Must(t, res.release(suite.Context(t)))
			} else {
				suite.IsError(t, res.err, zksync.ErrLost)
			}
			suite.IsError(t, w.Release(suite.Context(t)), zksync.ErrLost)
			suite.LockAndUnlock(t, elsewhere)
			suite.LockAndUnlock(t, r)
			suite.AtRest(t, s)
			suite.InLine(t, raw, p, 0)
		}
	})
}

// writeNodeLeft waits until only the write node is left.
func writeNodeLeft(t *testing.T, s *zksync.Session, c *zk.Conn, p string) {
	t.Helper()
	suite.Eventually(t, "one node is left", func() bool { return s.Stats().CleanupPending == 0 && len(suite.Children(t, c, p)) == 1 })
}
