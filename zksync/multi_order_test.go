package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Pairs, and more, of locks in any order, by several sessions at once: nobody
// waits for ever, and none is held twice.
func TestMultisInAnyOrder(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const locks = 5
		root := z.Path(t)
		var inside [locks]atomic.Int64
		var open []*zksync.Session
		var wg sync.WaitGroup
		for range 4 {
			s := z.Dial(t)
			open = append(open, s)
			for range 4 {
				wg.Go(func() {
					for range suite.Runs(40) {
						n := 1 + rand.IntN(3)
						var all []zksync.Locker
						names := rand.Perm(locks)[:n]
						for _, i := range names {
							all = append(all, zksync.NewMutex(s, fmt.Sprint(root, "/", i)))
						}
						l := zksync.Locker(zksync.NewMulti(all...))
						if n == 1 && rand.IntN(2) == 0 {
							l = all[0] // beside the Multis of its own session
						}
						ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
						if rand.IntN(8) == 0 {
							ctx, cancel = context.WithTimeout(context.Background(), rand.N(20*time.Millisecond))
						}
						err := l.LockContext(ctx)
						cancel()
						if err != nil {
							if !errors.Is(err, context.DeadlineExceeded) || time.Until(deadlineOf(ctx)) < -suite.Patience {
								t.Error(err)
							}
							continue
						}
						for _, i := range names {
							if inside[i].Add(1) != 1 {
								t.Errorf("lock %d is held twice", i)
							}
						}
						for _, i := range names {
							inside[i].Add(-1)
						}
						l.Unlock()
					}
				})
			}
		}
		wg.Wait()
		for _, s := range open {
			suite.AtRest(t, s)
		}
		for i := range locks {
			z.Empty(t, fmt.Sprint(root, "/", i))
		}
	}, suite.Smoke)
}

func deadlineOf(ctx context.Context) time.Time {
	d, _ := ctx.Deadline()
	return d
}

// One hold of several locks: one fence, lost when any part is, and an owner that
// asks for a part gets an error.
func TestMultiHold(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root := suite.Context(t), z.Path(t)
		s, other := z.Dial(t), z.Dial(t)
		a, b := zksync.NewMutex(s, root+"/a"), zksync.NewRWMutex(s, root+"/b")
		o := zksync.NewOwner("both")
		h, err := zksync.NewMulti(a, b.RLocker(), a, zksync.NewMulti(b)).As(o).Hold(ctx)
		suite.Must(t, err)
		raw := z.Raw(t)
		for _, p := range []string{"/a", "/b"} {
			suite.InLine(t, raw, root+p, 1)
			name := suite.Children(t, raw, root+p)[0]
			_, st, err := raw.Get(root + p + "/" + name)
			suite.Must(t, err)
			if st.Czxid != h.Fence() {
				t.Errorf("%s: zxid %d, fence %d", p, st.Czxid, h.Fence())
			}
		}
		for name, l := range map[string]zksync.Locker{"a": a, "b": b, "read b": b.RLocker(), "another Multi": zksync.NewMulti(a)} {
			if err := l.LockContext(zksync.WithOwner(ctx, o)); !errors.Is(err, zksync.ErrDeadlock) {
				t.Errorf("%s for the same owner: %v", name, err)
			}
			if taken, err := l.TryLockContext(ctx); taken || err != nil {
				t.Errorf("%s for anybody: %v, %v", name, taken, err)
			}
		}
		if _, err := zksync.NewRWMutex(other, root+"/b").RLocker().TryHold(ctx); !errors.Is(err, zksync.ErrBusy) {
			t.Errorf("writing wins over reading: %v", err)
		}
		suite.Must(t, raw.Delete(root+"/b/"+suite.Children(t, raw, root+"/b")[0], -1))
		suite.Receive(t, h.Context(ctx).Done())
		if err := h.Release(ctx); !errors.Is(err, zksync.ErrLost) {
			t.Errorf("Release of a broken Multi: %v", err)
		}
		z.Empty(t, root+"/a")
		suite.LockAndUnlock(t, a)
		suite.LockAndUnlock(t, b)
		err = zksync.NewMulti(a, b).Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
			return a.LockContext(ctx)
		})
		if !errors.Is(err, zksync.ErrDeadlock) {
			t.Errorf("a part within Do: %v", err)
		}
		suite.LockAndUnlock(t, zksync.NewMulti(a, b))
	})
}
