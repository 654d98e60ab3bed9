package zksync_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The answer to the request that makes the node is lost, or the connection while
// the call waits: it is granted all the same, or ends as it should, and leaves
// nothing.
func TestFamilyExits_Faults(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		c, other := z.raw(t), z.dial(t)
		for _, k := range kin {
			for i := range k.set(&exit{s: other, path: "/x"}, other) {
				call := k.set(&exit{s: other, path: "/x"}, other)[i]
				if call.try || call.name == "Do" || k.name == "write behind a reader" {
					continue
				}
				t.Run(k.name+"/"+call.name, func(t *testing.T) {
					rec := new(recorder)
					proxy, s := z.behind(t, zksync.WithTracer(rec.tracer()))
					x := &exit{z: z, c: c, s: s, path: lockPath(t), rec: rec}
					call := k.set(x, other)[i]
					x.take, x.bare = call.take, call.bare
					free(t, x.blocker) // the parents are there

					loseCreation(proxy)
					release, err := x.take(short(t))
					ok(t, err)
					ok(t, release(short(t)))
					nothingLeft(t, x)

					result := x.wait(t, short(t))
					offUntilKnown(t, proxy, s)
					proxy.Heal()
					x.blocker.Unlock()
					ok(t, get(t, result))
					nothingLeft(t, x)

					ctx, cancel := context.WithCancelCause(context.Background())
					result = x.wait(t, ctx)
					offUntilKnown(t, proxy, s)
					within(t, 0, func() {
						cancel(errCause)
						x.fails(t, get(t, result), context.Canceled, errCause)
					})
					proxy.Heal()
					x.blocker.Unlock()
					nothingLeft(t, x)

					// Given back while cut off: that is made up for.
					release, err = x.take(short(t))
					ok(t, err)
					offUntilKnown(t, proxy, s)
					if err := release(done()); err != nil {
						isError(t, err, context.Canceled)
					}
					proxy.Heal()
					nothingLeft(t, x)
				})
			}
		}
	})
}

// loseCreation has the answer to the next request for a lock's node lost, and
// the connection with it.
func loseCreation(p *zktest.Proxy) {
	var made creation
	var once sync.Once
	p.SetHook(func(f zktest.Frame) (act zktest.Action) {
		if made.of(f) && f.FromServer {
			once.Do(func() { act = zktest.DropAndCut })
		}
		return act
	})
}

// Shutdown refuses who waits, and lets those finish who hold.
func TestFamilyShutdown(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p := short(t), lockPath(t)
		s := z.dial(t)
		rw, sem := zksync.NewRWMutex(s, p), zksync.NewSemaphore(s, p+"-2", 2)
		multi := zksync.NewMulti(rw, zksync.NewMutex(s, p+"-3"))
		o := zksync.NewOwner("o")
		rw.RLock()
		rw.RLocker().As(o).Lock()
		ok(t, sem.Acquire(ctx, 2))
		waits := map[string]<-chan error{
			"write":   async(func() error { return rw.LockContext(ctx) }),
			"multi":   async(func() error { return multi.LockContext(ctx) }),
			"permits": async(func() error { return sem.Acquire(ctx, 1) }),
			"nothing": async(func() error {
				eventually(t, "somebody waits for permits", func() bool { return s.Stats().Waiting >= 3 })
				return sem.Acquire(ctx, 0)
			}),
			"more than there are": async(func() error { return sem.Acquire(ctx, 3) }),
		}
		waiting(t, s, 3)
		pass(20 * time.Millisecond)
		over := async(func() error { return s.Shutdown(ctx) })
		for name, w := range waits {
			if err := get(t, w); !errors.Is(err, zksync.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		isError(t, rw.RLockContext(ctx), zksync.ErrClosed) // though it could share
		isError(t, sem.Acquire(ctx, 1), zksync.ErrClosed)
		isError(t, sem.Acquire(ctx, 0), zksync.ErrClosed)
		ok(t, rw.RLocker().As(o).LockContext(ctx)) // who holds may enter again
		notYet(t, over)
		for range 2 {
			rw.RLocker().As(o).Unlock()
		}
		rw.RUnlock()
		sem.Release(1)
		notYet(t, over)
		sem.Release(1)
		ok(t, get(t, over))
		for _, p := range []string{p, p + "-2", p + "-3"} {
			z.empty(t, p)
		}
	})
}
