package zksync_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestOwnerValues(t *testing.T) {
	a, b := zksync.NewOwner("order 7"), zksync.NewOwner("order 7")
	if a == b || a.IsZero() || a.Name() != "order 7" || !strings.HasPrefix(a.String(), "order 7#") || a.String() == b.String() {
		t.Errorf("%v, %v", a, b)
	}
	if o, found := zksync.OwnerFrom(context.Background()); found || !o.IsZero() || o.String() != "no owner" {
		t.Errorf("%v, %v", o, found)
	}
	ctx := zksync.WithOwner(context.Background(), a)
	if o, found := zksync.OwnerFrom(ctx); !found || o != a {
		t.Errorf("%v, %v", o, found)
	}
	if o, found := zksync.OwnerFrom(zksync.WithOwner(ctx, zksync.Owner{})); found || !o.IsZero() {
		t.Errorf("%v, %v", o, found)
	}
	if o, _ := zksync.OwnerFrom(zksync.WithOwner(ctx, b)); o != b {
		t.Error("the inner owner gives way")
	}
	if a.ID() == "" || a.ID() == b.ID() || a.String() != "order 7#"+a.ID() || (zksync.Owner{}).ID() != "" {
		t.Errorf("%q, %q", a.ID(), b.ID())
	}
}

// A log shows an owner's name and id.
func TestOwnerInALog(t *testing.T) {
	o := zksync.NewOwner("order 7")
	for want, log := range map[string]func(w io.Writer) slog.Handler{
		`"owner":{"name":"order 7","id":"` + o.ID() + `"},"none":"no owner"}`: func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
		`owner.name="order 7" owner.id=` + o.ID() + ` none="no owner"`:        func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
	} {
		var b strings.Builder
		slog.New(log(&b)).Info("held", "owner", o, "none", zksync.Owner{})
		if !strings.HasSuffix(b.String(), want+"\n") {
			t.Errorf("%s, want %s at its end", b.String(), want)
		}
	}
}

// An owner that holds the lock enters again, by whatever call, without a
// request; the lock is given back when the counts match.
func TestReentry(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		suite.LockAndUnlock(t, m)
		for _, outer := range suite.Calls {
			t.Run(outer.Name, func(t *testing.T) {
				o := zksync.NewOwner("o")
				ctx := zksync.WithOwner(suite.Context(t), o)
				var releases []func(context.Context) error
				first, err := outer.Take(ctx, m)
				suite.Must(t, err)
				before := s.Stats()
				for _, inner := range suite.Calls {
					for _, l := range []zksync.Locker{m, m.As(o)} {
						r, err := inner.Take(ctx, l)
						suite.Must(t, err)
						releases = append(releases, r)
					}
				}
				m.As(o).Lock()
				if !m.As(o).TryLock() {
					t.Error("TryLock for the owner")
				}
				releases = append(releases, m.UnlockContext, m.As(o).UnlockContext)
				if got, err := m.TryLockContext(suite.Context(t)); got || err != nil {
					t.Errorf("nobody: %v, %v", got, err)
				}
				if m.As(zksync.NewOwner("o")).TryLock() {
					t.Error("another owner of the same label")
				}
				// A hold in a plain tenure may have to learn its fence, and its
				// node is then watched and probed.
				if n := s.Stats().Requests - before.Requests; n > 6 {
					t.Errorf("%d requests for re-entries", n)
				}
				if n := s.Stats().Acquired - before.Acquired; n != 0 {
					t.Errorf("%d grants", n)
				}
				if n := len(suite.Children(t, z.Raw(t), p)); n != 1 {
					t.Errorf("%d nodes", n)
				}
				for _, r := range releases {
					suite.Must(t, r(ctx))
				}
				if m.TryLock() {
					t.Error("given back before the counts matched")
				}
				suite.Must(t, first(ctx))
				z.Empty(t, p)
				suite.LockAndUnlock(t, m)
			})
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// Within one tenure all holds have one fence, each its own end.
func TestHoldWithinPlainTenure(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		l := m.As(zksync.NewOwner("o"))
		l.Lock()
		a, err := l.Hold(suite.Context(t))
		suite.Must(t, err)
		b, err := l.TryHold(suite.Context(t))
		suite.Must(t, err)
		if a.Fence() == 0 || a.Fence() != b.Fence() || a.Node() != b.Node() {
			t.Errorf("%d and %d, %s and %s", a.Fence(), b.Fence(), a.Node(), b.Node())
		}
		// The fence has been seen: the lock must not pass to another goroutine
		// with it.
		next := suite.Async(func() *zksync.Hold { h, _ := m.Hold(suite.Context(t)); return h })
		plain := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 2)
		suite.Must(t, a.Release(suite.Context(t)))
		if b.Err() != nil {
			t.Errorf("ended with another level: %v", b.Err())
		}
		l.Unlock()
		if b.Err() != nil {
			t.Errorf("ended with the plain level: %v", b.Err())
		}
		suite.Panics(t, "zksync: Unlock of a lock held by a Hold", l.Unlock)
		suite.Must(t, b.Release(suite.Context(t)))
		handoffs := func() int64 { return s.Stats().Handoffs }
		// In whatever order the two came to wait.
		select {
		case h := <-next:
			if h == nil || h.Fence() <= b.Fence() || handoffs() != 0 {
				t.Errorf("next hold %v, %d hand-overs", h, handoffs())
			}
			suite.Must(t, h.Release(suite.Context(t)))
			suite.Must(t, suite.Receive(t, plain))
			m.Unlock()
		case err := <-plain:
			suite.Must(t, err)
			if handoffs() != 0 {
				t.Error("a node whose fence was seen was handed over")
			}
			m.Unlock()
			h := suite.Receive(t, next)
			if h == nil || h.Fence() <= b.Fence() {
				t.Errorf("next hold %v", h)
			}
			suite.Must(t, h.Release(suite.Context(t)))
		}
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Work that is fanned out under one lock still excludes itself under another,
// however Do was called.
func TestDoEntersItsOwnLockOnly(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		ledger := zksync.NewMutex(s, z.Path(t))
		order := zksync.NewMutex(s, z.Path(t))
		for name, l := range map[string]zksync.Locker{
			"Mutex":            order,
			"As":               order.As(zksync.NewOwner("o")),
			"As within a Do's": order.As(zksync.NewOwner("p")),
		} {
			t.Run(name, func(t *testing.T) {
				var inside, most atomic.Int32
				suite.Must(t, l.Do(suite.Context(t), func(ctx context.Context, _ *zksync.Hold) error {
					var wg sync.WaitGroup
					for range 8 {
						wg.Go(func() {
							if err := ledger.Do(ctx, func(context.Context, *zksync.Hold) error {
								most.Store(max(most.Load(), inside.Add(1)))
								inside.Add(-1)
								return nil
							}); err != nil {
								t.Error(err)
							}
							if err := ledger.LockContext(ctx); err != nil {
								t.Error(err)
								return
							}
							most.Store(max(most.Load(), inside.Add(1)))
							inside.Add(-1)
							ledger.Unlock()
						})
					}
					// Held here, it is nobody's who works below.
					h, err := ledger.Hold(ctx)
					suite.Must(t, err)
					if got, err := ledger.TryLockContext(ctx); got || err != nil {
						t.Errorf("re-entered with order's ctx: %v, %v", got, err)
					}
					suite.Must(t, h.Release(ctx))
					wg.Wait()
					return nil
				}))
				if n := most.Load(); n != 1 {
					t.Errorf("%d workers in the ledger at once", n)
				}
			})
		}
		suite.AtRest(t, s)
	})
}

// An explicit owner in the program's own ctx is the program's word: it holds
// for every lock.
func TestOwnerOfCtxInDo(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		a, b := zksync.NewMutex(s, z.Path(t)), zksync.NewMutex(s, z.Path(t))
		o := zksync.NewOwner("o")
		ctx := zksync.WithOwner(suite.Context(t), o)
		suite.Must(t, b.LockContext(ctx))
		suite.Must(t, a.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
			suite.Must(t, b.LockContext(ctx))
			return b.UnlockContext(ctx)
		}))
		suite.Must(t, b.UnlockContext(ctx))
		suite.AtRest(t, s)
	})
}

// Goroutines that share an owner do not exclude each other; counts hold.
func TestReentryConcurrentSafe(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		l := m.As(zksync.NewOwner("o"))
		l.Lock()
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for range 20 {
					if i%2 == 0 {
						l.Lock()
						l.Unlock() // a level of its own
						continue
					}
					if err := l.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if m.TryLock() {
			t.Error("given back")
		}
		l.Unlock()
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}
