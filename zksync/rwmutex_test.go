package zksync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// company counts who is inside a lock, and complains about company that must not
// be.
type company struct {
	t                *testing.T
	readers, writers atomic.Int64
	most             atomic.Int64 // readers at once
}

func (c *company) write(f func()) {
	if w, r := c.writers.Add(1), c.readers.Load(); w != 1 || r != 0 {
		c.t.Errorf("a writer is beside %d writers and %d readers", w-1, r)
	}
	f()
	c.writers.Add(-1)
}

func (c *company) read(f func()) {
	r := c.readers.Add(1)
	if w := c.writers.Load(); w != 0 {
		c.t.Errorf("a reader is beside %d writers", w)
	}
	for most := c.most.Load(); r > most && !c.most.CompareAndSwap(most, r); most = c.most.Load() {
	}
	f()
	c.readers.Add(-1)
}

// Many goroutines of several sessions read and write, with and without handles
// and owners, and give up now and then.
func TestReadersAndWriters(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const sessions, goroutines = 4, 8
		rounds := suite.Runs(60)
		p := z.Path(t)
		in := &company{t: t}
		var open []*zksync.Session
		var wg sync.WaitGroup
		for range sessions {
			s := z.Dial(t)
			open = append(open, s)
			rw := zksync.NewRWMutex(s, p)
			plain := zksync.NewMutex(s, p)
			for range goroutines {
				wg.Go(func() {
					for range rounds {
						visit(t, in, rw, plain)
					}
				})
			}
		}
		wg.Wait()
		if in.most.Load() < 2 {
			t.Error("readers were never together")
		}
		for _, s := range open {
			suite.AtRest(t, s)
		}
		z.Empty(t, p)
	}, suite.Smoke)
}

// visit takes the lock in some way, or gives up.
func visit(t *testing.T, in *company, rw *zksync.RWMutex, plain *zksync.Mutex) {
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	if rand.IntN(8) == 0 {
		ctx, cancel = context.WithTimeout(context.Background(), rand.N(20*time.Millisecond))
	}
	defer cancel()
	stay := func() {
		if rand.IntN(4) == 0 {
			time.Sleep(rand.N(time.Millisecond))
		}
	}
	check := func(err error) bool {
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, zksync.ErrBusy) {
			t.Error(err)
		}
		return err == nil
	}
	switch rand.IntN(12) {
	case 0:
		if check(rw.LockContext(ctx)) {
			in.write(stay)
			rw.Unlock()
		}
	case 1:
		h, err := rw.Hold(ctx)
		if check(err) {
			in.write(stay)
			check(h.Release(ctx))
		}
	case 2:
		if check(plain.LockContext(ctx)) {
			in.write(stay)
			plain.Unlock()
		}
	case 3, 4:
		h, err := rw.RLocker().Hold(ctx)
		if check(err) {
			in.read(stay)
			check(h.Release(ctx))
		}
	case 5:
		if rw.TryLock() {
			in.write(stay)
			rw.Unlock()
		}
	case 6:
		if rw.TryRLock() {
			in.read(stay)
			rw.RUnlock()
		}
	case 7: // downgrade
		o := zksync.WithOwner(ctx, zksync.NewOwner("o"))
		if !check(rw.LockContext(o)) {
			return
		}
		in.write(stay)
		if !check(rw.RLockContext(o)) {
			rw.Unlock()
			return
		}
		in.readers.Add(1)
		check(rw.UnlockContext(zksync.WithOwner(context.Background(), must1(zksync.OwnerFrom(o)))))
		in.readers.Add(-1)
		in.read(stay)
		check(rw.RUnlockContext(zksync.WithOwner(context.Background(), must1(zksync.OwnerFrom(o)))))
	default:
		if check(rw.RLockContext(ctx)) {
			in.read(stay)
			rw.RUnlock()
		}
	}
}

func must1[T any](v T, ok bool) T {
	if !ok {
		panic("not there")
	}
	return v
}
