package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// opening are the ways to open the first handle on a lock that an owner holds.
var opening = []struct {
	name string
	open func(ctx context.Context, l zksync.Locker) error
}{
	{"Hold", func(ctx context.Context, l zksync.Locker) error { _, err := l.Hold(ctx); return err }},
	{"TryHold", func(ctx context.Context, l zksync.Locker) error { _, err := l.TryHold(ctx); return err }},
	{"Do", func(ctx context.Context, l zksync.Locker) error {
		return l.Do(ctx, func(context.Context, *zksync.Hold) error { return errors.New("fn has run") })
	}},
}

// Nobody guards a lock without a handle: its node may have been deleted long ago.
// The first handle on it finds that out before it is given.
func TestFirstHandleOnAPlainLockIsProven(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		for _, tt := range opening {
			t.Run(tt.name, func(t *testing.T) {
				s, other, p, c := z.dial(t), z.dial(t), lockPath(t), z.raw(t)
				before, err := zksync.NewMutex(other, p).Hold(short(t))
				ok(t, err)
				mine := zksync.NewMutex(s, p).As(zksync.NewOwner("mine"))
				waits := async(func() error { return mine.LockContext(short(t)) }) // so that it learns its fence
				lineOf(t, c, p, 2)
				waiting(t, s, 1)
				ok(t, before.Release(short(t)))
				ok(t, get(t, waits))
				deleteOldest(t, z, p)
				next, err := zksync.NewMutex(other, p).Hold(short(t))
				ok(t, err)
				isError(t, tt.open(short(t), mine), zksync.ErrLost)
				isError(t, mine.UnlockContext(short(t)), zksync.ErrLost)
				ok(t, next.Err())
				ok(t, next.Release(short(t)))
				free(t, mine)
				atRest(t, s)
				z.empty(t, p)
			})
		}
	})
}

// All nodes of a Multi are looked at.
func TestFirstHandleOnAPlainMultiIsProven(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		for _, tt := range opening {
			s, p, c := z.dial(t), lockPath(t), z.raw(t)
			paths := []string{p + "-1", p + "-2", p + "-3"}
			multi := zksync.NewMulti(zksync.NewMutex(s, paths[0]), zksync.NewMutex(s, paths[1]), zksync.NewMutex(s, paths[2]))
			for _, gone := range paths {
				mine := multi.As(zksync.NewOwner("mine"))
				ok(t, mine.LockContext(short(t)))
				for _, n := range children(t, c, gone) {
					ok(t, c.Delete(gone+"/"+n, -1))
				}
				isError(t, tt.open(short(t), mine), zksync.ErrLost)
				isError(t, mine.UnlockContext(short(t)), zksync.ErrLost)
			}
			free(t, multi)
		}
	})
}

// A read does not prove it: the server that answers may lag behind.
func TestFirstHandleAsksTheQuorum(t *testing.T) {
	for _, tt := range opening {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				door := srv.Door()
				s, other := via(t, door.Dial), via(t, srv.Dial)
				mine := zksync.NewMutex(s, "/l").As(zksync.NewOwner("mine"))
				ok(t, mine.LockContext(short(t)))
				door.LagUntilSync(true)
				ok(t, other.Conn().Delete(nodesOf(srv, s.ID())[0], -1))
				next, err := zksync.NewMutex(other, "/l").Hold(short(t))
				ok(t, err)
				isError(t, tt.open(short(t), mine), zksync.ErrLost)
				ok(t, next.Release(short(t)))
				door.LagUntilSync(false)
				mine.Unlock()
				free(t, mine)
			})
		})
	}
}

// That costs one transaction, and the first handle a read for its fence. Others
// beside an open handle cost nothing.
func TestRequestsOfReentry(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		mine := zksync.NewMutex(s, "/l").As(zksync.NewOwner("mine"))
		ok(t, mine.LockContext(short(t)))
		open := func(want int64) *zksync.Hold {
			t.Helper()
			before := s.Stats().Requests
			h, err := mine.Hold(short(t))
			ok(t, err)
			if n := s.Stats().Requests - before; n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
			return h
		}
		first := open(2)
		second := open(0)
		ok(t, first.Release(short(t)))
		third := open(0)
		ok(t, mine.LockContext(short(t)))
		mine.Unlock()
		for _, h := range []*zksync.Hold{second, third} {
			ok(t, h.Release(short(t)))
		}
		ok(t, open(1).Release(short(t))) // nobody has guarded it since
		mine.Unlock()
		nobodyIn(t, srv, s, "/l")
	})
}

// Who enters a lock that has been asked back is told at once.
func TestRevokedTellsThoseWhoEnterLater(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p, c := z.dial(t), lockPath(t), z.raw(t)
		o := zksync.NewOwner("o")
		mine := zksync.NewMutex(s, p).As(o)
		ok(t, mine.LockContext(short(t)))
		first, err := mine.Hold(short(t))
		ok(t, err)
		_, err = c.Set(first.Node(), []byte("__REVOKE__"), -1)
		ok(t, err)
		get(t, first.Revoked())
		late := func() *zksync.Hold {
			t.Helper()
			h, err := mine.Hold(short(t))
			ok(t, err)
			select {
			case <-h.Revoked():
			default:
				t.Error("a hold that enters after the request is not told of it")
			}
			ok(t, h.Err())
			return h
		}
		second := late()
		ok(t, first.Release(short(t)))
		ok(t, second.Release(short(t)))
		ok(t, late().Release(short(t))) // beside a plain level
		ok(t, zksync.NewMutex(s, p, zksync.WithRevocable()).As(o).Do(short(t), func(ctx context.Context, h *zksync.Hold) error {
			if cause := context.Cause(ctx); !errors.Is(cause, zksync.ErrRevoked) {
				t.Errorf("the context of a Do that enters after the request: %v", cause)
			}
			return nil
		}))
		mine.Unlock()
		h, err := mine.Hold(short(t)) // another tenure
		ok(t, err)
		select {
		case <-h.Revoked():
			t.Error("the next hold is told of the request")
		default:
		}
		ok(t, h.Release(short(t)))
		z.empty(t, p)
	})
}
