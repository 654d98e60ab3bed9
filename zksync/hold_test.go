package zksync_test

import (
	"context"
	"errors"
	"path"
	"runtime"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestHold(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		c := z.Raw(t)
		m := zksync.NewMutex(s, p)
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		_, stat, err := c.Get(h.Node())
		suite.Must(t, err)
		if path.Dir(h.Node()) != p || h.Fence() != stat.Czxid || stat.EphemeralOwner != s.ID() {
			t.Errorf("node %s, fence %#x, session %#x; the server says %+v", h.Node(), h.Fence(), s.ID(), stat)
		}
		ctx := h.Context(context.WithValue(context.Background(), keyed{}, "value"))
		if h.Err() != nil || ctx.Err() != nil || ctx.Value(keyed{}) != "value" {
			t.Errorf("while held: %v, %v", h.Err(), ctx.Err())
		}
		parent, cancel := context.WithCancelCause(context.Background())
		bounded := h.Context(parent)
		cancel(suite.ErrCause)
		<-bounded.Done()
		if context.Cause(bounded) != suite.ErrCause || h.Err() != nil {
			t.Errorf("the parent's end: %v, %v", context.Cause(bounded), h.Err())
		}
		select {
		case <-h.Revoked():
			t.Error("revoked by nobody")
		default:
		}
		suite.Must(t, h.Release(suite.Context(t)))
		<-ctx.Done()
		if context.Cause(ctx) != context.Canceled || ctx.Err() != context.Canceled || h.Err() != context.Canceled {
			t.Errorf("after Release: %v, %v, %v", context.Cause(ctx), ctx.Err(), h.Err())
		}
		late := h.Context(context.Background())
		if late.Err() != context.Canceled {
			t.Errorf("a context made after Release: %v", late.Err())
		}
		suite.Must(t, h.Release(suite.DoneContext())) // repeats its first result
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Smoke)
}

type keyed struct{}

func TestReleaseWithDoneContext(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		first := h.Release(suite.DoneContext())
		if first != nil {
			e := suite.IsError(t, first, context.Canceled, suite.ErrCause)
			if e.Op != "release" || e.Path != p || e.Node != h.Node() {
				t.Errorf("%#v", e)
			}
		}
		if again := h.Release(suite.Context(t)); again != first {
			t.Errorf("%v, then %v", first, again)
		}
		z.Empty(t, p)
		suite.LockAndUnlock(t, m)
	})
}

// The loss of a Hold ends its contexts, frees its place at once, and its late
// Release touches nobody.
func TestHoldLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(z *suite.Ground, c *zk.Conn, s *zksync.Session, h *zksync.Hold) error
	}{
		{"node deleted", func(z *suite.Ground, c *zk.Conn, s *zksync.Session, h *zksync.Hold) error {
			return c.Delete(h.Node(), -1)
		}},
		{"session expired", func(z *suite.Ground, c *zk.Conn, s *zksync.Session, h *zksync.Hold) error { return z.Expire(s.ID()) }},
		{"parent deleted", func(z *suite.Ground, c *zk.Conn, s *zksync.Session, h *zksync.Hold) error {
			_, err := c.Multi(&zk.DeleteRequest{Path: h.Node(), Version: -1}, &zk.DeleteRequest{Path: path.Dir(h.Node()), Version: -1})
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			suite.Parallel(t)
			suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
				s, p := z.Dial(t), z.Path(t)
				m := zksync.NewMutex(s, p)
				h, err := m.Hold(suite.Context(t))
				suite.Must(t, err)
				ctx := h.Context(context.Background())
				suite.Must(t, tt.lose(z, z.Raw(t), s, h))
				select {
				case <-ctx.Done():
				case <-suite.Context(t).Done():
					t.Fatal("the holder does not learn of the loss")
				}
				if !errors.Is(context.Cause(ctx), zksync.ErrLost) || !errors.Is(h.Err(), zksync.ErrLost) {
					t.Errorf("%v, %v", context.Cause(ctx), h.Err())
				}
				next, err := m.Hold(suite.Context(t)) // not held up by the one that was lost
				suite.Must(t, err)
				if next.Fence() <= h.Fence() {
					t.Errorf("fence %d after %d", next.Fence(), h.Fence())
				}
				e := suite.IsError(t, h.Release(suite.Context(t)), zksync.ErrLost)
				if e.Op != "release" || e.Node != h.Node() || e.ErrorType() != "lost" {
					t.Errorf("%#v", e)
				}
				if next.Err() != nil {
					t.Errorf("a late Release ended the next hold: %v", next.Err())
				}
				suite.Must(t, next.Release(suite.Context(t)))
				if n := s.Stats().Losses; n != 1 {
					t.Errorf("%d losses counted", n)
				}
				suite.AtRest(t, s)
				z.Empty(t, p)
			}, suite.Timeless)
		})
	}
}

func TestRevoked(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		c := z.Raw(t)
		for _, word := range []string{"__REVOKE__", "unlock"} {
			h, err := zksync.NewMutex(s, p).Hold(suite.Context(t))
			suite.Must(t, err)
			for _, data := range []string{"", "something else", word} {
				_, err = c.Set(h.Node(), []byte(data), -1)
				suite.Must(t, err)
			}
			select {
			case <-h.Revoked():
			case <-suite.Context(t).Done():
				t.Fatal("not told")
			}
			if h.Err() != nil {
				t.Error("to be asked back is no loss")
			}
			suite.Must(t, h.Release(suite.Context(t)))
		}
	})
}

func TestDo(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		c := z.Raw(t)
		m := zksync.NewMutex(s, p)
		errWork := errors.New("work failed")
		t.Run("result", func(t *testing.T) {
			suite.Must(t, m.Do(suite.Context(t), func(ctx context.Context, h *zksync.Hold) error {
				if ctx.Err() != nil || h.Err() != nil || len(suite.Children(t, c, p)) != 1 {
					t.Errorf("%v, %v", ctx.Err(), h.Err())
				}
				return nil
			}))
			if err := m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { return errWork }); err != errWork {
				t.Errorf("Do: %v", err)
			}
		})
		t.Run("not acquired", func(t *testing.T) {
			e := suite.IsError(t, m.Do(suite.DoneContext(), func(context.Context, *zksync.Hold) error { t.Error("fn has run"); return nil }),
				context.Canceled, suite.ErrCause)
			if e.Op != "lock" {
				t.Errorf("%#v", e)
			}
		})
		t.Run("ctx", func(t *testing.T) {
			parent, cancel := context.WithCancelCause(suite.Context(t))
			var inner context.Context
			suite.Must(t, m.Do(parent, func(ctx context.Context, _ *zksync.Hold) error {
				inner = ctx
				cancel(suite.ErrCause)
				<-ctx.Done()
				if context.Cause(ctx) != suite.ErrCause {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				return nil
			}))
			var after context.Context
			suite.Must(t, m.Do(suite.Context(t), func(ctx context.Context, _ *zksync.Hold) error { after = ctx; return nil }))
			if inner.Err() == nil || after.Err() != context.Canceled {
				t.Errorf("after Do: %v, %v", inner.Err(), after.Err())
			}
		})
		t.Run("panic", func(t *testing.T) {
			suite.Panics(t, "work", func() {
				m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { panic("work") })
			})
		})
		t.Run("Goexit", func(t *testing.T) {
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { runtime.Goexit(); return nil })
			}()
			suite.Receive(t, gone)
		})
		t.Run("released in between", func(t *testing.T) {
			suite.Must(t, m.Do(suite.Context(t), func(_ context.Context, h *zksync.Hold) error { return h.Release(suite.Context(t)) }))
		})
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Do joins ErrLost to whatever fn returns, the cause first.
func TestDoLost(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		c := z.Raw(t)
		m := zksync.NewMutex(s, p)
		errWork := errors.New("work failed")
		for _, want := range []error{nil, errWork} {
			err := m.Do(suite.Context(t), func(ctx context.Context, h *zksync.Hold) error {
				suite.Must(t, c.Delete(h.Node(), -1))
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), zksync.ErrLost) {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				suite.IsError(t, m.LockContext(ctx), zksync.ErrLost, context.Canceled) // no re-entry
				return want
			})
			e := suite.IsError(t, err, zksync.ErrLost)
			if e.Op != "release" || e.Path != p {
				t.Errorf("%#v", e)
			}
			if want != nil {
				all, joined := err.(interface{ Unwrap() []error })
				if !joined || all.Unwrap()[0] != errWork {
					t.Errorf("%v does not begin with the cause", err)
				}
			}
			suite.LockAndUnlock(t, m)
		}
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Done contexts take nothing: not a free lock, not one that its owner holds.
func TestDoneContextNeverAcquires(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		suite.LockAndUnlock(t, m)
		late, cancel := context.WithTimeoutCause(context.Background(), -1, suite.ErrCause)
		defer cancel()
		for _, lock := range []struct {
			name string
			l    zksync.Locker
			held bool
		}{
			{"free", m, false},
			{"free, for an owner", m.As(zksync.NewOwner("")), false},
			{"held by the owner", m.As(zksync.NewOwner("")), true},
		} {
			t.Run(lock.name, func(t *testing.T) {
				if lock.held {
					lock.l.Lock()
				}
				before := s.Stats()
				for _, call := range suite.Calls {
					for _, ctx := range []context.Context{suite.DoneContext(), late} {
						_, err := call.Take(ctx, lock.l)
						e := suite.IsError(t, err, ctx.Err(), suite.ErrCause)
						if e.Path != p || e.Position != 0 || e.Node != "" {
							t.Errorf("%s: %#v", call.Name, e)
						}
					}
				}
				after := s.Stats()
				if after.Acquired != before.Acquired || after.Requests-before.Requests > 1 { // a probe at most
					t.Errorf("before %+v, after %+v", before, after)
				}
				if lock.held {
					lock.l.Unlock()
				}
				suite.LockAndUnlock(t, lock.l)
				z.Empty(t, p)
			})
		}
	})
}
