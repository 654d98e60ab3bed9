package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Losses of locks that can have several holders or several nodes: read locks, permits,
// Multis.

// losses are the ways to lose a lock, by the sign that the session gets.
var losses = []struct {
	name string
	lose func(t *testing.T, z *suite.Ground, s *zksync.Session, node string)
}{
	{"node deleted", func(t *testing.T, z *suite.Ground, _ *zksync.Session, node string) {
		suite.Must(t, z.Raw(t).Delete(node, -1))
	}},
	{"session expired", func(t *testing.T, z *suite.Ground, s *zksync.Session, _ string) {
		n := s.Stats().Connects
		suite.Must(t, z.Expire(s.ID()))
		suite.Eventually(t, "the next session stands", func() bool { return s.Stats().Connects > n })
	}},
}

// lostBy waits until n losses are known.
func lostBy(t *testing.T, s *zksync.Session, n int64) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%d losses", n), func() bool { return s.Stats().Losses == n })
	suite.Eventually(t, "nothing is left of them", func() bool { return s.Stats().CleanupPending == 0 })
}

// settles checks that a session comes to rest with n losses in all, and that no node
// is left below p.
func settles(t *testing.T, z *suite.Ground, s *zksync.Session, p string, n int64) {
	t.Helper()
	suite.AtRest(t, s)
	z.Empty(t, p)
	if got := s.Stats().Losses; got != n {
		t.Errorf("%d losses, want %d", got, n)
	}
}

// touchesNothing checks that f gives back what was lost without a write, and that the
// session keeps the node that it has below p.
func touchesNothing(t *testing.T, raw *zk.Conn, proxy *ensemble.Proxy, s *zksync.Session, p string, f func(node string)) {
	t.Helper()
	node := suite.NodeOf(t, raw, p, s)
	proxy.ResetRequests()
	f(node)
	if n := proxy.Requests()["delete"] + proxy.Requests()["multi"]; n != 0 {
		t.Errorf("%d writes to give back what was lost", n)
	}
	if got := suite.NodeOf(t, raw, p, s); got != node {
		t.Errorf("node %s, was %s", got, node)
	}
}

// After the loss of read locks without a handle, the first RUnlocks give those back and
// make no request. A read lock that was taken later stays.
func TestLostReadersArePaidFirst(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, tt := range losses {
			t.Run(tt.name, func(t *testing.T) {
				ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
				proxy, s := z.Behind(t)
				other := zksync.NewRWMutex(z.Dial(t), p)
				rw := zksync.NewRWMutex(s, p)
				rw.RLock()
				rw.RLock() // on the same node, which is watched from now on
				rw.RLock()
				tt.lose(t, z, s, suite.NodeOf(t, raw, p, s))
				lostBy(t, s, 1)
				suite.LockAndUnlock(t, other) // no call is held up, in another session or in this one
				suite.Must(t, rw.LockContext(ctx))
				rw.Unlock()

				suite.Must(t, rw.RLockContext(ctx))
				touchesNothing(t, raw, proxy, s, p, func(node string) {
					rw.RUnlock()
					e := suite.IsError(t, rw.RUnlockContext(ctx), zksync.ErrLost)
					if e.Node == "" || e.Node == node {
						t.Errorf("%#v", e)
					}
					suite.IsError(t, rw.RUnlockContext(suite.DoneContext()), zksync.ErrLost)
				})
				if other.TryLock() {
					t.Error("a writer beside the reader that is left")
				}
				suite.Must(t, rw.RUnlockContext(ctx))
				suite.Panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
				suite.LockAndUnlock(t, other)
				suite.LockAndUnlock(t, rw)
				settles(t, z, s, p, 1)
			})
		}
	})
}

// An unlock with an owner gives back only what the owner has lost or holds. An unlock
// without an owner gives back the lost locks without an owner first.
func TestLostReadersOfOwners(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("o")
		mine := rw.RLocker().As(o)
		mine.Lock()
		mine.Lock()
		lost := suite.NodeOf(t, raw, p, s)
		h, err := mine.Hold(ctx) // a handle makes the session look for the loss
		suite.Must(t, err)
		suite.Must(t, raw.Delete(lost, -1))
		lostBy(t, s, 1)
		suite.IsError(t, h.Release(ctx), zksync.ErrLost)

		// The owner doesn't enter what is lost, until it has given it back.
		for _, call := range suite.Calls {
			_, err := call.Take(ctx, mine)
			suite.IsError(t, err, zksync.ErrLost)
		}
		rw.RLock()
		node := suite.NodeOf(t, raw, p, s)
		if node == lost {
			t.Fatal(node)
		}
		suite.Must(t, rw.RUnlockContext(ctx)) // its own level, not the owner's
		suite.InLine(t, raw, p, 0)
		suite.IsError(t, mine.UnlockContext(ctx), zksync.ErrLost)
		mine.Unlock()
		suite.LockAndUnlock(t, mine)
		suite.Panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// The handle of a read lock, of permits, or of a Multi reports its loss, whichever of
// its nodes was lost. A late Release deletes nothing.
func TestLostHoldsOfTheFamily(t *testing.T) {
	suite.Beside(t)
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
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				for _, tt := range losses {
					paths := []string{""}
					if k.name == "multi" {
						paths = []string{"", "-2", "-3"} // whichever part it is
					}
					for _, part := range paths {
						ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
						proxy, s := z.Behind(t)
						hold := k.open(s, p)
						h, err := hold(ctx)
						suite.Must(t, err)
						held := h.Context(ctx)
						tt.lose(t, z, s, suite.NodeOf(t, raw, p+part, s))
						bound := suite.Patience
						if tt.name == "node deleted" {
							bound = 0 // before the next proof of life finds out
						}
						suite.Within(t, bound, func() { suite.Receive(t, held.Done()) })
						if !errors.Is(context.Cause(held), zksync.ErrLost) || !errors.Is(h.Err(), zksync.ErrLost) {
							t.Errorf("%s: %v, %v", tt.name, context.Cause(held), h.Err())
						}
						next, err := hold(ctx) // its place is free
						suite.Must(t, err)
						lostBy(t, s, 1)
						proxy.ResetRequests()
						suite.IsError(t, h.Release(ctx), zksync.ErrLost)
						if n := proxy.Requests()["delete"]; n != 0 {
							t.Errorf("%s: %d deletions by a late Release", tt.name, n)
						}
						for _, part := range paths {
							suite.NodeOf(t, raw, p+part, s)
						}
						suite.Must(t, next.Err())
						suite.Must(t, next.Release(ctx))
						suite.AtRest(t, s)
						for _, part := range paths {
							z.Empty(t, p+part)
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
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		paths := []string{root + "/a", root + "/b", root + "/c"}
		var all []zksync.Locker
		for _, p := range paths {
			all = append(all, zksync.NewMutex(s, p))
		}
		m := zksync.NewMulti(all...)
		for i, p := range paths {
			suite.Must(t, m.LockContext(ctx))
			next := suite.Async(func() error { return m.LockContext(ctx) })
			suite.AwaitWaiting(t, s, 1)
			suite.InLine(t, raw, p, 2) // the next one stands in line by itself
			suite.DeleteOldest(t, z, p)
			suite.NotYet(t, next)
			suite.IsError(t, m.UnlockContext(ctx), zksync.ErrLost)
			suite.Must(t, suite.Receive(t, next))
			for _, p := range paths {
				suite.InLine(t, raw, p, 1)
			}
			suite.Must(t, m.UnlockContext(ctx))
			if n := s.Stats().Losses; n != int64(i+1) {
				t.Errorf("%d losses, want %d", n, i+1)
			}
		}
		// By the end of the session, the same.
		m.Lock()
		suite.Must(t, z.Expire(s.ID()))
		lostBy(t, s, int64(len(paths)+1))
		suite.IsError(t, m.UnlockContext(ctx), zksync.ErrLost)
		suite.Panics(t, "zksync: Unlock of an unlocked lock", m.Unlock)
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
		for _, p := range paths {
			z.Empty(t, p)
		}
	})
}

// When the session has had no contact for too long, holds of every kind end before
// another session can get the lock.
func TestLostContactOfTheFamily(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root := suite.Context(t), z.Path(t)
		network, s := z.Through(t, zksync.WithSessionTimeout(suite.LossTimeout))
		other := z.Dial(t, zksync.WithSessionTimeout(suite.SecondsTimeout))
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
			suite.Must(t, err)
			held = append(held, h.Context(ctx))
			next = append(next, suite.Async(func() time.Time {
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
		network.Blackhole()
		for i := range held {
			lost, got := suite.Receive(t, over[i]), suite.Receive(t, next[i])
			if got.Before(lost) {
				t.Errorf("%d: two holders for %v", i, lost.Sub(got))
			}
			if !errors.Is(context.Cause(held[i]), zksync.ErrLost) {
				t.Errorf("%d: %v", i, context.Cause(held[i]))
			}
		}
		network.Heal()
	}, suite.Timeless)
}
