package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Losses of what several may have at a time: read locks, permits, locks in a
// bundle.

// losses are the ways to lose what is held, by what the session finds out.
var losses = []struct {
	name string
	lose func(t *testing.T, z *site, s *zksync.Session, node string)
}{
	{"node deleted", func(t *testing.T, z *site, _ *zksync.Session, node string) { ok(t, z.raw(t).Delete(node, -1)) }},
	{"session expired", func(t *testing.T, z *site, s *zksync.Session, _ string) {
		n := s.Stats().Connects
		ok(t, z.expire(s.ID()))
		eventually(t, "the next session stands", func() bool { return s.Stats().Connects > n })
	}},
}

// lostBy waits until n losses are known.
func lostBy(t *testing.T, s *zksync.Session, n int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d losses", n), func() bool { return s.Stats().Losses == n })
	eventually(t, "nothing is left of them", func() bool { return s.Stats().CleanupPending == 0 })
}

// A read lock without a handle that was lost is paid by the first RUnlocks,
// which touch nothing; what was taken later stays.
func TestLostReadersArePaidFirst(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		for _, tt := range losses {
			t.Run(tt.name, func(t *testing.T) {
				ctx, p, raw := short(t), lockPath(t), z.raw(t)
				proxy, s := z.behind(t)
				other := zksync.NewRWMutex(z.dial(t), p)
				rw := zksync.NewRWMutex(s, p)
				rw.RLock()
				rw.RLock() // on the same node, which is watched from now on
				rw.RLock()
				tt.lose(t, z, s, nodeOf(t, raw, p, s))
				lostBy(t, s, 1)
				free(t, other) // nobody is held up: not elsewhere, not here
				ok(t, rw.LockContext(ctx))
				rw.Unlock()

				ok(t, rw.RLockContext(ctx))
				node := nodeOf(t, raw, p, s)
				proxy.ResetRequests()
				rw.RUnlock()
				e := isError(t, rw.RUnlockContext(ctx), zksync.ErrLost)
				if e.Node == "" || e.Node == node {
					t.Errorf("%#v", e)
				}
				isError(t, rw.RUnlockContext(done()), zksync.ErrLost)
				if n := proxy.Requests()["delete"] + proxy.Requests()["multi"]; n != 0 {
					t.Errorf("%d writes by those who pay", n)
				}
				if got := nodeOf(t, raw, p, s); got != node {
					t.Errorf("node %s, was %s", got, node)
				}
				if other.TryLock() {
					t.Error("a writer beside the reader that is left")
				}
				ok(t, rw.RUnlockContext(ctx))
				panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
				free(t, other)
				free(t, rw)
				atRest(t, s)
				z.empty(t, p)
				if n := s.Stats().Losses; n != 1 {
					t.Errorf("%d losses", n)
				}
			})
		}
	})
}

// Nobody pays for others: an owner's loss is the owner's, and those of nobody in
// particular come first for whoever names no owner.
func TestLostReadersOfOwners(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s := z.dial(t)
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("o")
		mine := rw.RLocker().As(o)
		mine.Lock()
		mine.Lock()
		lost := nodeOf(t, raw, p, s)
		h, err := mine.Hold(ctx) // so that the loss is told
		ok(t, err)
		ok(t, raw.Delete(lost, -1))
		lostBy(t, s, 1)
		isError(t, h.Release(ctx), zksync.ErrLost)

		// The owner doesn't enter what is lost, until it has given it back.
		for _, call := range calls {
			_, err := call.take(ctx, mine)
			isError(t, err, zksync.ErrLost)
		}
		rw.RLock()
		node := nodeOf(t, raw, p, s)
		if node == lost {
			t.Fatal(node)
		}
		ok(t, rw.RUnlockContext(ctx)) // its own level, not the owner's
		lineOf(t, raw, p, 0)
		isError(t, mine.UnlockContext(ctx), zksync.ErrLost)
		mine.Unlock()
		free(t, mine)
		panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
		atRest(t, s)
		z.empty(t, p)
	})
}

// A handle of a read lock, of permits, of several locks knows its loss, whichever
// node it was; its late Release touches nobody.
func TestLostHoldsOfTheFamily(t *testing.T) {
	for _, k := range []struct {
		name string
		open func(s *zksync.Session, p string) func(ctx context.Context) (*zksync.Hold, error)
	}{
		{"read", func(s *zksync.Session, p string) func(context.Context) (*zksync.Hold, error) {
			return zksync.NewRWMutex(s, p).RLocker().Hold
		}},
		{"write", func(s *zksync.Session, p string) func(context.Context) (*zksync.Hold, error) {
			return zksync.NewRWMutex(s, p).Hold
		}},
		{"multi", func(s *zksync.Session, p string) func(context.Context) (*zksync.Hold, error) {
			return zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-2"), zksync.NewRWMutex(s, p+"-3").RLocker()).Hold
		}},
		{"permits", func(s *zksync.Session, p string) func(context.Context) (*zksync.Hold, error) {
			sem := zksync.NewSemaphore(s, p, 3)
			return func(ctx context.Context) (*zksync.Hold, error) { return sem.Hold(ctx, 2) }
		}},
	} {
		t.Run(k.name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				for _, tt := range losses {
					paths := []string{""}
					if k.name == "multi" {
						paths = []string{"", "-2", "-3"} // whichever part it is
					}
					for _, part := range paths {
						ctx, p, raw := short(t), lockPath(t), z.raw(t)
						proxy, s := z.behind(t)
						hold := k.open(s, p)
						h, err := hold(ctx)
						ok(t, err)
						held := h.Context(ctx)
						tt.lose(t, z, s, nodeOf(t, raw, p+part, s))
						bound := patience
						if tt.name == "node deleted" {
							bound = 0 // before the next proof of life finds out
						}
						within(t, bound, func() { get(t, held.Done()) })
						if !errors.Is(context.Cause(held), zksync.ErrLost) || !errors.Is(h.Err(), zksync.ErrLost) {
							t.Errorf("%s: %v, %v", tt.name, context.Cause(held), h.Err())
						}
						next, err := hold(ctx) // its place is free
						ok(t, err)
						lostBy(t, s, 1)
						proxy.ResetRequests()
						isError(t, h.Release(ctx), zksync.ErrLost)
						if n := proxy.Requests()["delete"]; n != 0 {
							t.Errorf("%s: %d deletions by a late Release", tt.name, n)
						}
						for _, part := range paths {
							nodeOf(t, raw, p+part, s)
						}
						ok(t, next.Err())
						ok(t, next.Release(ctx))
						atRest(t, s)
						for _, part := range paths {
							z.empty(t, p+part)
						}
					}
				}
			})
		})
	}
}

// A Multi without a handle that loses one of its locks keeps its place here until
// its Unlock, which deletes the other nodes and says so.
func TestLostMulti(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, root, raw := short(t), lockPath(t), z.raw(t)
		s := z.dial(t)
		paths := []string{root + "/a", root + "/b", root + "/c"}
		var all []zksync.Locker
		for _, p := range paths {
			all = append(all, zksync.NewMutex(s, p))
		}
		m := zksync.NewMulti(all...)
		for i, p := range paths {
			ok(t, m.LockContext(ctx))
			next := async(func() error { return m.LockContext(ctx) })
			waiting(t, s, 1)
			lineOf(t, raw, p, 2) // the next one stands in line by itself
			var node string
			for _, n := range children(t, raw, p) {
				_, st, err := raw.Exists(p + "/" + n)
				ok(t, err)
				if node == "" || older(t, raw, st, node) {
					node = p + "/" + n
				}
			}
			ok(t, raw.Delete(node, -1))
			notYet(t, next)
			isError(t, m.UnlockContext(ctx), zksync.ErrLost)
			ok(t, get(t, next))
			for _, p := range paths {
				lineOf(t, raw, p, 1)
			}
			ok(t, m.UnlockContext(ctx))
			if n := s.Stats().Losses; n != int64(i+1) {
				t.Errorf("%d losses, want %d", n, i+1)
			}
		}
		// By the end of the session, the same.
		m.Lock()
		ok(t, z.expire(s.ID()))
		lostBy(t, s, int64(len(paths)+1))
		isError(t, m.UnlockContext(ctx), zksync.ErrLost)
		panics(t, "zksync: Unlock of an unlocked lock", m.Unlock)
		free(t, m)
		atRest(t, s)
		for _, p := range paths {
			z.empty(t, p)
		}
	})
}

func older(t *testing.T, c *zk.Conn, st *zk.Stat, than string) bool {
	t.Helper()
	_, other, err := c.Exists(than)
	ok(t, err)
	return st.Czxid < other.Czxid
}

// The session is out of contact for longer than it may: holds of every kind are
// over by then, before anybody else can have the lock.
func TestLostContactOfTheFamily(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		ctx, root := short(t), lockPath(t)
		proxy := z.proxied(t)
		s := dialTo(t, []string{proxy.Addr()}, zksync.WithSessionTimeout(lossTimeout))
		other := z.dial(t, zksync.WithSessionTimeout(secondsTimeout))
		a, b := zksync.NewMutex(s, root+"/a"), zksync.NewMutex(s, root+"/b")
		var held []context.Context
		var next []<-chan time.Time
		type holder = func(context.Context) (*zksync.Hold, error)
		permits := func(s *zksync.Session) holder {
			return func(ctx context.Context) (*zksync.Hold, error) {
				return zksync.NewSemaphore(s, root+"/sem", 1).Hold(ctx, 1)
			}
		}
		for _, pair := range []struct{ ours, theirs holder }{
			{zksync.NewRWMutex(s, root+"/rw").RLocker().Hold, zksync.NewRWMutex(other, root+"/rw").Hold},
			{zksync.NewMulti(a, b).Hold, zksync.NewMutex(other, root+"/b").Hold},
			{permits(s), permits(other)},
		} {
			h, err := pair.ours(ctx)
			ok(t, err)
			held = append(held, h.Context(ctx))
			next = append(next, async(func() time.Time {
				h, err := pair.theirs(ctx)
				at := time.Now()
				if err == nil {
					err = h.Release(ctx)
				}
				if err != nil {
					t.Error(err)
				}
				return at
			}))
		}
		over := make([]chan time.Time, len(held))
		for i, c := range held {
			over[i] = make(chan time.Time, 1)
			context.AfterFunc(c, func() { over[i] <- time.Now() })
		}
		proxy.Blackhole(true, true)
		for i := range held {
			lost, got := get(t, over[i]), get(t, next[i])
			if got.Before(lost) {
				t.Errorf("%d: two holders for %v", i, lost.Sub(got))
			}
			if !errors.Is(context.Cause(held[i]), zksync.ErrLost) {
				t.Errorf("%d: %v", i, context.Cause(held[i]))
			}
		}
		proxy.Heal()
	})
}
