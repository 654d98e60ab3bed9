package zksync_test

import (
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// An owner that takes a lock, gives it back, and then takes a Multi of it never waits for
// itself: what ends the owner's waiting calls when it gets one of the two must not end a
// call that came after that.
func TestOwnerTakesALockAndAMultiInTurn(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p, ctx := z.Dial(t), z.Path(t), suite.Context(t)
		m := zksync.NewMutex(s, p)
		multi := zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m)
		end := time.Now().Add(500 * time.Millisecond)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for time.Now().Before(end) {
					o := zksync.NewOwner("o")
					for _, l := range []zksync.Locker{m, multi, m, multi} {
						if err := l.As(o).LockContext(ctx); err != nil {
							t.Error(err)
							return
						}
						l.As(o).Unlock()
					}
				}
			})
		}
		all.Wait()
	}, suite.Timeless)
}

// A read hold beside a write of its owner shows the fence of the write. No other owner
// gets that fence, though the write is a lock that is handed over.
func TestFenceOfAReadBesideAWriteIsItsOwners(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, ctx := z.Dial(t), suite.Context(t)
		rw := zksync.NewRWMutex(s, z.Path(t))
		a, b := zksync.NewOwner("a"), zksync.NewOwner("b")
		suite.Must(t, rw.As(a).LockContext(ctx))
		first, err := rw.RLocker().As(a).Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, first.Release(ctx))
		waits := suite.Async(func() error { return rw.As(b).LockContext(ctx) })
		suite.AwaitWaiting(t, s, 1)
		suite.Must(t, rw.As(a).UnlockContext(ctx))
		suite.Must(t, suite.Receive(t, waits))
		second, err := rw.As(b).Hold(ctx)
		suite.Must(t, err)
		if second.Fence() <= first.Fence() {
			t.Errorf("fence %d after %d", second.Fence(), first.Fence())
		}
		suite.Must(t, second.Release(ctx))
		suite.Must(t, rw.As(b).UnlockContext(ctx))
	})
}

// The error of a call that ends because its owner has got the lock for reading names
// nobody: it does not wait for others any more.
func TestDeadlockWithAnOwnerNamesNoPeer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s, other, ctx, p := z.Dial(t, zksync.WithTracer(rec.Tracer())), z.Dial(t), suite.Context(t), z.Path(t)
		rw, theirs := zksync.NewRWMutex(s, p), zksync.NewRWMutex(other, p)
		o := zksync.NewOwner("o")
		theirs.Lock()
		reads := suite.Async(func() error { return rw.RLocker().As(o).LockContext(ctx) })
		suite.AwaitWaiting(t, s, 1)
		writes := suite.Async(func() error { return rw.As(o).LockContext(ctx) })
		suite.AwaitWaiting(t, s, 2)
		theirs.Unlock()
		suite.Must(t, suite.Receive(t, reads))
		if e := suite.IsError(t, suite.Receive(t, writes), zksync.ErrDeadlock); e.Peer != nil {
			t.Errorf("behind %+v", *e.Peer)
		}
		suite.Must(t, rw.RLocker().As(o).UnlockContext(ctx))
	})
}
