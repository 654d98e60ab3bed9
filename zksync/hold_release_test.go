package zksync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// derived are contexts that a program may derive from a hold's.
var derived = map[string]func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc){
	"its own": func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc) {
		return h.Context(ctx), func() {}
	},
	"its own twice": func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc) {
		return h.Context(h.Context(ctx)), func() {}
	},
	"with a value": func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithValue(h.Context(ctx), keyed{}, 1), func() {}
	},
	"with cancel": func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithCancel(h.Context(ctx))
	},
	"with a timeout": func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(h.Context(ctx), time.Minute)
	},
	"detached": func(h *zksync.Hold, ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithoutCancel(h.Context(ctx)), func() {}
	},
}

// Release with a context of the hold, which it ends itself, confirms: nil means that the
// node is gone, and a loss is not hidden by the end of the context.
func TestReleaseWithTheHoldsOwnContext(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, c := z.Dial(t), z.Raw(t)
		for name, derive := range derived {
			t.Run(name, func(t *testing.T) {
				p := z.Path(t)
				h, err := zksync.NewMutex(s, p).Hold(suite.Context(t))
				suite.Must(t, err)
				ctx, cancel := derive(h, suite.Context(t))
				defer cancel()
				suite.Must(t, h.Release(ctx))
				if left := suite.Children(t, c, p); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
				suite.Must(t, h.Release(ctx)) // repeats its result

				h, err = zksync.NewMutex(s, p).Hold(suite.Context(t))
				suite.Must(t, err)
				ctx, cancel = derive(h, suite.Context(t))
				defer cancel()
				suite.Must(t, c.Delete(h.Node(), -1))
				suite.IsError(t, h.Release(ctx), zksync.ErrLost)
				suite.IsError(t, h.Release(ctx), zksync.ErrLost)
			})
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// The hold's end is not the end of the wait; everything else is that ends the context,
// and a third of the session timeout.
func TestReleaseWithTheHoldsOwnContextIsBounded(t *testing.T) {
	const third = suite.VirtualTimeout / 3
	background := context.Background()
	within := func(t *testing.T, ctx context.Context, d time.Duration) context.Context {
		ctx, cancel := context.WithTimeoutCause(ctx, d, suite.ErrCause)
		t.Cleanup(cancel)
		return ctx
	}
	for name, tt := range map[string]struct {
		take func(t *testing.T, h *zksync.Hold) context.Context
		want time.Duration
		is   []error
	}{
		"nothing else": {func(t *testing.T, h *zksync.Hold) context.Context { return h.Context(background) },
			third, []error{context.DeadlineExceeded}},
		"its own deadline": {func(t *testing.T, h *zksync.Hold) context.Context {
			return within(t, h.Context(background), time.Second)
		}, time.Second, []error{context.DeadlineExceeded}},
		"a deadline that is later": {func(t *testing.T, h *zksync.Hold) context.Context {
			return within(t, h.Context(background), third+time.Second)
		}, third, []error{context.DeadlineExceeded}},
		"the parent's deadline": {func(t *testing.T, h *zksync.Hold) context.Context {
			return h.Context(h.Context(within(t, background, time.Second)))
		}, time.Second, []error{context.DeadlineExceeded, suite.ErrCause}},
		"the parent's cancellation": {func(t *testing.T, h *zksync.Hold) context.Context {
			ctx, cancel := context.WithCancelCause(background)
			time.AfterFunc(time.Second, func() { cancel(suite.ErrCause) })
			return context.WithValue(h.Context(ctx), keyed{}, 1)
		}, time.Second, []error{context.Canceled, suite.ErrCause}},
		"the parent's end before": {func(t *testing.T, h *zksync.Hold) context.Context { return h.Context(suite.DoneContext()) },
			0, []error{context.Canceled}},
		"its own end before": {func(t *testing.T, h *zksync.Hold) context.Context {
			ctx, cancel := context.WithCancelCause(h.Context(background))
			cancel(suite.ErrCause)
			return ctx
		}, 0, []error{context.Canceled, suite.ErrCause}},
		"detached": {func(t *testing.T, h *zksync.Hold) context.Context {
			return context.WithoutCancel(h.Context(suite.DoneContext()))
		}, third, []error{context.DeadlineExceeded}},
		"detached, with a deadline that is later": {func(t *testing.T, h *zksync.Hold) context.Context {
			return within(t, context.WithoutCancel(h.Context(background)), third+time.Second)
		}, third, []error{context.DeadlineExceeded}},
		"detached, with a deadline of its own": {func(t *testing.T, h *zksync.Hold) context.Context {
			return within(t, context.WithoutCancel(h.Context(background)), time.Second)
		}, time.Second, []error{context.DeadlineExceeded, suite.ErrCause}},
		"detached, and canceled": {func(t *testing.T, h *zksync.Hold) context.Context {
			ctx, cancel := context.WithCancel(context.WithoutCancel(h.Context(background)))
			time.AfterFunc(time.Second, cancel)
			return ctx
		}, time.Second, []error{context.Canceled}},
		"detached, and canceled before": {func(t *testing.T, h *zksync.Hold) context.Context {
			ctx, cancel := context.WithCancel(context.WithoutCancel(h.Context(background)))
			cancel()
			return ctx
		}, 0, []error{context.Canceled}},
		"another context": {func(t *testing.T, h *zksync.Hold) context.Context {
			return within(t, background, third+time.Second)
		}, third + time.Second, []error{context.DeadlineExceeded}},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				s := z.Via(t, z.Server.Dial)
				h, err := zksync.NewMutex(s, z.Path(t)).Hold(suite.Context(t))
				suite.Must(t, err)
				ctx := tt.take(t, h)
				z.Server.Blackhole()
				start := time.Now()
				first := suite.Async(func() error { return h.Release(ctx) })
				suite.IsError(t, <-first, tt.is...)
				if took := time.Since(start); took != tt.want {
					t.Errorf("Release returned after %v, want %v", took, tt.want)
				}
				z.Server.Heal()
				suite.AtRest(t, s)
			})
		})
	}
}

// Deferred Releases of several holds may all get the context that was derived last, and
// which the first of them ends.
func TestReleaseWithTheContextOfAnotherHold(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, c, p := z.Dial(t), z.Raw(t), z.Path(t)
		for name, derive := range map[string]func(ctx context.Context) context.Context{
			"itself":       func(ctx context.Context) context.Context { return ctx },
			"with a value": func(ctx context.Context) context.Context { return context.WithValue(ctx, keyed{}, 1) },
			"with cancel": func(ctx context.Context) context.Context {
				ctx, cancel := context.WithCancel(ctx)
				t.Cleanup(cancel)
				return ctx
			},
		} {
			for _, within := range []bool{true, false} { // whether the other's context is derived from the hold's own
				for _, lost := range []bool{false, true} {
					ctx := suite.Context(t)
					h, err := zksync.NewMutex(s, p).Hold(ctx)
					suite.Must(t, err)
					if within {
						ctx = derive(h.Context(ctx))
					}
					other, err := zksync.NewMutex(s, p+"-other").Hold(ctx)
					suite.Must(t, err)
					ctx = derive(other.Context(ctx))
					suite.Must(t, other.Release(ctx))
					if !lost {
						if err := h.Release(ctx); err != nil || len(suite.Children(t, c, p)) != 0 {
							t.Errorf("%s, %t: %v", name, within, err)
						}
						continue
					}
					suite.Must(t, c.Delete(h.Node(), -1))
					suite.IsError(t, h.Release(ctx), zksync.ErrLost)
				}
			}
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// What ended the context besides the other hold still counts.
func TestReleaseWithTheContextOfAnotherHoldIsBounded(t *testing.T) {
	const third = suite.VirtualTimeout / 3
	for name, tt := range map[string]struct {
		parent func(ctx context.Context) (context.Context, context.CancelFunc)
		cancel bool // before Release
		want   time.Duration
		is     error
	}{
		"nothing else":            {context.WithCancel, false, third, context.DeadlineExceeded},
		"the parent's end before": {context.WithCancel, true, 0, context.Canceled},
		"the parent's deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, false, time.Second, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				s := z.Via(t, z.Server.Dial)
				h, err := zksync.NewMutex(s, z.Path(t)).Hold(suite.Context(t))
				suite.Must(t, err)
				other, err := zksync.NewMutex(s, z.Path(t)).Hold(suite.Context(t))
				suite.Must(t, err)
				parent, cancel := tt.parent(context.Background())
				defer cancel()
				ctx := other.Context(h.Context(parent))
				suite.Must(t, other.Release(suite.Context(t)))
				if tt.cancel {
					cancel()
				}
				z.Server.Blackhole()
				start := time.Now()
				suite.IsError(t, h.Release(ctx), tt.is)
				if took := time.Since(start); took != tt.want {
					t.Errorf("Release returned after %v, want %v", took, tt.want)
				}
				z.Server.Heal()
				suite.AtRest(t, s)
			})
		})
	}
}

// A later Release waits for the first one, and a context of the hold, which that one has
// ended, does not cut the wait short.
func TestLaterReleaseWithTheHoldsOwnContext(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s := z.Via(t, z.Server.Dial)
		h, err := zksync.NewMutex(s, z.Path(t)).Hold(suite.Context(t))
		suite.Must(t, err)
		ctx := h.Context(context.Background())
		z.Server.Blackhole()
		first := suite.Async(func() error { return h.Release(suite.BrieflyFor(t, time.Second)) })
		<-ctx.Done()
		start := time.Now()
		later := suite.Async(func() error { return h.Release(ctx) })
		suite.IsError(t, <-first, context.DeadlineExceeded)
		suite.IsError(t, <-later, context.DeadlineExceeded)
		if took := time.Since(start); took != time.Second {
			t.Errorf("after %v", took)
		}
		z.Server.Heal()
		suite.AtRest(t, s)
	})
}

// What a hold and its contexts tell of a loss names the lock and the node, and is one
// error.
func TestLossNamesTheLock(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p, c := z.Dial(t), z.Path(t), z.Raw(t)
		for name, l := range map[string]zksync.Locker{
			"mutex": zksync.NewMutex(s, p), "read": zksync.NewRWMutex(s, p).RLocker(),
			"multi": zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-more")),
		} {
			h, err := l.Hold(suite.Context(t))
			suite.Must(t, err)
			ctx := h.Context(context.Background())
			suite.Must(t, c.Delete(h.Node(), -1))
			<-ctx.Done()
			e := suite.IsError(t, h.Err(), zksync.ErrLost)
			path := p
			if name == "multi" {
				path = p + "," + p + "-more"
			}
			if e.Op != "hold" || e.Path != path || e.Node != h.Node() {
				t.Errorf("%s: %#v", name, e)
			}
			if again := h.Err(); again != error(e) || context.Cause(ctx) != again || context.Cause(h.Context(context.Background())) != again {
				t.Errorf("%s: %v, %v, %v", name, e, again, context.Cause(ctx))
			}
			if why := zksync.LossReason(h.Err()); why != zksync.EndNodeDeleted {
				t.Errorf("%s: %v", name, why)
			}
			if e = suite.IsError(t, h.Release(suite.Context(t)), zksync.ErrLost); e.Op != "release" || errors.As(e.Err, new(*zksync.Error)) {
				t.Errorf("%s: %v", name, e)
			}
		}
		suite.AtRest(t, s)
	})
}
