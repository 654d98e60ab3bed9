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
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// An owner that writes may read, by plain calls: when it has stopped writing
// other readers get in, and no writer.
func TestDowngradePlain(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t), z.dial(t)
		rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		w.Lock()
		r.Lock()
		r.Lock()
		lineOf(t, raw, p, 2)
		w.Lock() // it writes still
		w.Unlock()
		reads := async(func() error { return rw.RLockContext(ctx) })
		waiting(t, s, 1)
		notYet(t, reads)
		w.Unlock()
		ok(t, get(t, reads))
		if taken, err := elsewhere.RLocker().TryLockContext(ctx); !taken || err != nil {
			t.Errorf("a reader elsewhere: %v, %v", taken, err)
		}
		elsewhere.RUnlock()
		if rw.TryLock() || elsewhere.TryLock() {
			t.Error("a writer beside readers")
		}
		isError(t, w.LockContext(ctx), zksync.ErrDeadlock)
		rw.RUnlock()
		r.Unlock()
		if elsewhere.TryLock() {
			t.Error("a writer beside the reader that is left")
		}
		r.Unlock()
		panics(t, "zksync: RUnlock of a lock that is not locked for reading", r.Unlock)

		// In the other order: reading first is given back first.
		w.Lock()
		r.Lock()
		r.Unlock()
		if elsewhere.TryLock() || elsewhere.RLocker().TryLock() || rw.TryRLock() {
			t.Error("beside a writer")
		}
		w.Unlock()
		free(t, elsewhere)
		atRest(t, s)
		z.empty(t, p)
	})
}

// A writer of the session that waits for a hand-over, and so has no node, stands
// in line once the holder reads as well: the node it waited for goes.
func TestDowngradeBesideAHandOver(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s := z.dial(t)
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		for _, readFirst := range []bool{false, true} {
			w.Lock()
			next := async(func() error { return rw.LockContext(ctx) })
			waiting(t, s, 1)
			lineOf(t, raw, p, 1)
			if !r.TryLock() {
				t.Fatal("a writer reads")
			}
			lineOf(t, raw, p, 3)
			if readFirst {
				ok(t, r.UnlockContext(ctx))
				notYet(t, next)
				ok(t, w.UnlockContext(ctx))
			} else {
				ok(t, w.UnlockContext(ctx))
				notYet(t, next)
				ok(t, r.UnlockContext(ctx))
			}
			ok(t, get(t, next))
			rw.Unlock()
			atRest(t, s)
			z.empty(t, p)
		}
	})
}

// One of the two nodes of an owner that writes and reads is deleted: the other
// lock stays, and keeps out whom it has to.
func TestDowngradeAndALoss(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, raw := short(t), z.raw(t)
		s, other := z.dial(t), z.dial(t)
		for _, write := range []bool{true, false} {
			p := lockPath(t)
			rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
			o := zksync.NewOwner("o")
			w, err := rw.As(o).Hold(ctx)
			ok(t, err)
			r, err := rw.RLocker().As(o).Hold(ctx)
			ok(t, err)
			gone, stays := w, r
			if !write {
				gone, stays = r, w
			}
			held := gone.Context(ctx)
			ok(t, raw.Delete(gone.Node(), -1))
			get(t, held.Done())
			isError(t, gone.Release(ctx), zksync.ErrLost)
			ok(t, stays.Err())
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
			ok(t, stays.Release(ctx))
			free(t, elsewhere)
			free(t, rw.As(o))
			atRest(t, s)
			z.empty(t, p)
		}
	})
}

// What the function of Do reads under a write lock is still read when Do is over,
// and what it reads under a read lock is the same lock.
func TestDowngradeInDo(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p := short(t), lockPath(t)
		s, other := z.dial(t), z.dial(t)
		rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
		ok(t, rw.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
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
		ok(t, rw.RUnlockContext(ctx))
		free(t, elsewhere)
		atRest(t, s)
		z.empty(t, p)
	})
}

// A reader that gives up passes its place in line on to those who share it.
func TestReadersKeepTheirPlace(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s, before, behind := z.dial(t), z.dial(t), z.dial(t)
		rw := zksync.NewRWMutex(s, p)
		first := zksync.NewRWMutex(before, p)
		first.Lock()
		gone, cancel := context.WithCancel(ctx)
		one := async(func() error { return rw.RLockContext(gone) })
		lineOf(t, raw, p, 2)
		two := async(func() error { return rw.RLockContext(ctx) })
		waiting(t, s, 2)
		last := async(func() error { return zksync.NewRWMutex(behind, p).LockContext(ctx) })
		lineOf(t, raw, p, 3)
		// With a handle, a node of its own, which goes with the call.
		other, stop := context.WithCancel(ctx)
		held := async(func() error { _, err := rw.RLocker().Hold(other); return err })
		lineOf(t, raw, p, 4)
		stop()
		isError(t, get(t, held), context.Canceled)
		lineOf(t, raw, p, 3)
		cancel()
		isError(t, get(t, one), context.Canceled)
		lineOf(t, raw, p, 3)
		first.Unlock()
		ok(t, get(t, two)) // before the writer who came after it
		notYet(t, last)
		rw.RUnlock()
		ok(t, get(t, last))
		zksync.NewRWMutex(behind, p).Unlock()
		atRest(t, s)
		z.empty(t, p)
	})
}

// Whatever becomes of the request that makes the read node, either the owner
// reads or nothing is left; and the write lock is not touched.
func TestDowngradeExits(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		p, raw := lockPath(t), z.raw(t)
		proxy, s := z.behind(t)
		rw, elsewhere := zksync.NewRWMutex(s, p), zksync.NewRWMutex(z.dial(t), p)
		o := zksync.NewOwner("o")
		r := rw.RLocker().As(o)
		for _, call := range calls {
			w, err := rw.As(o).Hold(short(t))
			ok(t, err)
			part := func(what string, release func(context.Context) error, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s, %s: %v", call.name, what, err)
				}
				lineOf(t, raw, p, 2)
				ok(t, release(short(t)))
				writeNodeLeft(t, s, raw, p)
				ok(t, w.Err())
			}
			isMulti := func(f zktest.Frame) bool {
				return f.Op == "multi" && bytes.Contains(f.Payload, []byte("__READ__"))
			}
			// The answer is lost: it is seen by the request being in vain again.
			var asked atomic.Int32
			var once sync.Once
			proxy.SetHook(func(f zktest.Frame) (act zktest.Action) {
				if !f.FromServer && isMulti(f) {
					asked.Store(f.Xid)
				}
				if f.FromServer && f.Xid > 0 && f.Xid == asked.Load() {
					once.Do(func() { act = zktest.DropAndCut })
				}
				return act
			})
			release, err := call.take(short(t), r)
			proxy.SetHook(nil)
			part("the answer lost", release, err)

			// The call ends while the request is under way.
			ctx, cancel := context.WithCancelCause(short(t))
			on := make(chan struct{})
			proxy.SetHook(func(f zktest.Frame) zktest.Action {
				if !f.FromServer && isMulti(f) {
					cancel(errCause)
					<-on
				}
				return zktest.Pass
			})
			_, err = call.take(ctx, r)
			isError(t, err, context.Canceled, errCause)
			proxy.SetHook(nil)
			close(on)
			writeNodeLeft(t, s, raw, p)
			ok(t, w.Err())
			release, err = call.take(short(t), r)
			part("again", release, err)

			// Cut off meanwhile.
			offUntilKnown(t, proxy, s)
			type result struct {
				release func(context.Context) error
				err     error
			}
			got := async(func() result {
				release, err := call.take(short(t), r)
				return result{release, err}
			})
			pass(20 * time.Millisecond)
			proxy.Heal()
			res := get(t, got)
			part("cut off", res.release, res.err)

			// Lost meanwhile.
			offUntilKnown(t, proxy, s)
			got = async(func() result {
				release, err := call.take(short(t), r)
				return result{release, err}
			})
			pass(20 * time.Millisecond)
			ok(t, z.expire(s.ID()))
			proxy.Heal()
			// A hold that is lost is nobody's any more: then it may also be a lock
			// of its own.
			if res := get(t, got); res.err == nil {
				ok(t, res.release(short(t)))
			} else {
				isError(t, res.err, zksync.ErrLost)
			}
			isError(t, w.Release(short(t)), zksync.ErrLost)
			free(t, elsewhere)
			free(t, r)
			atRest(t, s)
			lineOf(t, raw, p, 0)
		}
	})
}

// writeNodeLeft waits until only the write node is left.
func writeNodeLeft(t *testing.T, s *zksync.Session, c *zk.Conn, p string) {
	t.Helper()
	eventually(t, "one node is left", func() bool { return s.Stats().CleanupPending == 0 && len(children(t, c, p)) == 1 })
}
