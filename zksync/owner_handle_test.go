package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
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

// The session does not watch the node of a lock without a handle: it may have been
// deleted long ago. The first handle on it finds that out before it is given.
func TestFirstHandleOnAPlainLockIsProven(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		for _, tt := range opening {
			t.Run(tt.name, func(t *testing.T) {
				s, other, p, c := z.Dial(t), z.Dial(t), z.Path(t), z.Raw(t)
				before, err := zksync.NewMutex(other, p).Hold(suite.Context(t))
				suite.Must(t, err)
				mine := zksync.NewMutex(s, p).As(zksync.NewOwner("mine"))
				waits := suite.Async(func() error { return mine.LockContext(suite.Context(t)) }) // so that it learns its fence
				suite.InLine(t, c, p, 2)
				suite.AwaitWaiting(t, s, 1)
				suite.Must(t, before.Release(suite.Context(t)))
				suite.Must(t, suite.Receive(t, waits))
				suite.DeleteOldest(t, z, p)
				next, err := zksync.NewMutex(other, p).Hold(suite.Context(t))
				suite.Must(t, err)
				suite.IsError(t, tt.open(suite.Context(t), mine), zksync.ErrLost)
				suite.IsError(t, mine.UnlockContext(suite.Context(t)), zksync.ErrLost)
				suite.Must(t, next.Err())
				suite.Must(t, next.Release(suite.Context(t)))
				suite.LockAndUnlock(t, mine)
				suite.AtRest(t, s)
				z.Empty(t, p)
			})
		}
	})
}

// All nodes of a Multi are looked at.
func TestFirstHandleOnAPlainMultiIsProven(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		for _, tt := range opening {
			s, p, c := z.Dial(t), z.Path(t), z.Raw(t)
			paths := []string{p + "-1", p + "-2", p + "-3"}
			multi := zksync.NewMulti(zksync.NewMutex(s, paths[0]), zksync.NewMutex(s, paths[1]), zksync.NewMutex(s, paths[2]))
			for _, gone := range paths {
				mine := multi.As(zksync.NewOwner("mine"))
				suite.Must(t, mine.LockContext(suite.Context(t)))
				for _, n := range suite.Children(t, c, gone) {
					suite.Must(t, c.Delete(gone+"/"+n, -1))
				}
				suite.IsError(t, tt.open(suite.Context(t), mine), zksync.ErrLost)
				suite.IsError(t, mine.UnlockContext(suite.Context(t)), zksync.ErrLost)
			}
			suite.LockAndUnlock(t, multi)
		}
	}, suite.Timeless)
}

// A read does not prove it: the server that answers may lag behind.
func TestFirstHandleAsksTheQuorum(t *testing.T) {
	for _, tt := range opening {
		t.Run(tt.name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				member := srv.AddMember()
				s, other := z.Via(t, member.Dial), z.Via(t, srv.Dial)
				mine := zksync.NewMutex(s, "/l").As(zksync.NewOwner("mine"))
				suite.Must(t, mine.LockContext(suite.Context(t)))
				member.LagUntilSync()
				suite.Must(t, other.Conn().Delete(suite.NodesOf(srv, s.ID())[0], -1))
				next, err := zksync.NewMutex(other, "/l").Hold(suite.Context(t))
				suite.Must(t, err)
				suite.IsError(t, tt.open(suite.Context(t), mine), zksync.ErrLost)
				suite.Must(t, next.Release(suite.Context(t)))
				member.CatchUp()
				mine.Unlock()
				suite.LockAndUnlock(t, mine)
			})
		})
	}
}

// That costs one transaction. Others beside an open handle cost nothing.
func TestRequestsOfReentry(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		mine := zksync.NewMutex(s, "/l").As(zksync.NewOwner("mine"))
		suite.Must(t, mine.LockContext(suite.Context(t)))
		open := func(want int64) *zksync.Hold {
			t.Helper()
			before := s.Stats().Requests
			h, err := mine.Hold(suite.Context(t))
			suite.Must(t, err)
			if n := s.Stats().Requests - before; n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
			return h
		}
		first := open(1)
		second := open(0)
		suite.Must(t, first.Release(suite.Context(t)))
		third := open(0)
		suite.Must(t, mine.LockContext(suite.Context(t)))
		mine.Unlock()
		for _, h := range []*zksync.Hold{second, third} {
			suite.Must(t, h.Release(suite.Context(t)))
		}
		suite.Must(t, open(1).Release(suite.Context(t))) // nobody has guarded it since
		mine.Unlock()
		suite.NobodyIn(t, srv, s, "/l")
	})
}

// A call that enters a lock that has been asked back learns that at once.
func TestRevokedTellsThoseWhoEnterLater(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p, c := z.Dial(t), z.Path(t), z.Raw(t)
		o := zksync.NewOwner("o")
		mine := zksync.NewMutex(s, p).As(o)
		suite.Must(t, mine.LockContext(suite.Context(t)))
		first, err := mine.Hold(suite.Context(t))
		suite.Must(t, err)
		_, err = c.Set(first.Node(), []byte("__REVOKE__"), -1)
		suite.Must(t, err)
		suite.Receive(t, first.Revoked())
		late := func() *zksync.Hold {
			t.Helper()
			h, err := mine.Hold(suite.Context(t))
			suite.Must(t, err)
			select {
			case <-h.Revoked():
			default:
				t.Error("a hold that enters after the request is not told of it")
			}
			suite.Must(t, h.Err())
			return h
		}
		second := late()
		suite.Must(t, first.Release(suite.Context(t)))
		suite.Must(t, second.Release(suite.Context(t)))
		suite.Must(t, late().Release(suite.Context(t))) // beside a plain level
		suite.Must(t, zksync.NewMutex(s, p, zksync.WithCancelOnRevoke()).As(o).Do(suite.Context(t), func(ctx context.Context, h *zksync.Hold) error {
			if cause := context.Cause(ctx); !errors.Is(cause, zksync.ErrRevoked) {
				t.Errorf("the context of a Do that enters after the request: %v", cause)
			}
			return nil
		}))
		mine.Unlock()
		h, err := mine.Hold(suite.Context(t)) // another tenure
		suite.Must(t, err)
		select {
		case <-h.Revoked():
			t.Error("the next hold is told of the request")
		default:
		}
		suite.Must(t, h.Release(suite.Context(t)))
		z.Empty(t, p)
	})
}
