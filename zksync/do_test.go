package zksync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

var errWork = errors.New("the work failed")

// TryDo runs its function if the lock is free, and tells whether it did, on every Locker.
func TestTryDo(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, other := suite.Context(t), z.Dial(t), z.Dial(t)
		for _, kind := range suite.Kinds {
			t.Run(kind.Name, func(t *testing.T) {
				subject := kind.New(s, other, z.Path(t))
				try := func(ctx context.Context, fn func(context.Context, *zksync.Hold) error) (bool, error) {
					if p, ok := subject.Lock.(suite.Permits); ok {
						return p.TryDo(ctx, p.N, fn)
					}
					return subject.Lock.(zksync.Locker).TryDo(ctx, fn)
				}
				never := func(context.Context, *zksync.Hold) error { t.Error("the function runs"); return nil }

				ran, err := try(ctx, func(held context.Context, h *zksync.Hold) error {
					if held.Err() != nil || h.Err() != nil {
						t.Errorf("%v, %v", held.Err(), h.Err())
					}
					return nil
				})
				if !ran || err != nil {
					t.Errorf("free: %v, %v", ran, err)
				}
				for want, fn := range map[error]func(context.Context, *zksync.Hold) error{
					errWork:        func(context.Context, *zksync.Hold) error { return errWork },
					zksync.ErrBusy: func(context.Context, *zksync.Hold) error { return zksync.ErrBusy }, // of another lock
				} {
					if ran, err := try(ctx, fn); !ran || err != want {
						t.Errorf("%v: %v, %v", want, ran, err)
					}
				}

				for who, l := range map[string]suite.Lockable{"another session": subject.Blocker, "next door": subject.Local} {
					suite.Must(t, l.LockContext(ctx))
					if ran, err := try(ctx, never); ran || err != nil {
						t.Errorf("held by %s: %v, %v", who, ran, err)
					}
					suite.Must(t, l.UnlockContext(ctx))
				}
				ran, err = try(suite.DoneContext(), never)
				if e := suite.IsError(t, err, context.Canceled); ran || e.Op != "try" {
					t.Errorf("done: %v, %v", ran, e)
				}
				if v := suite.PanicOf(func() { try(ctx, func(context.Context, *zksync.Hold) error { panic("at work") }) }); v != "at work" {
					t.Errorf("panics with %v", v)
				}
				suite.AtRest(t, s)
				suite.LockAndUnlock(t, subject.Lock)
			})
		}
	}, suite.Smoke)
}

// TryDo tells of a loss as Do does.
func TestTryDoLost(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, c := suite.Context(t), z.Dial(t), z.Raw(t)
		ran, err := zksync.NewMutex(s, z.Path(t)).TryDo(ctx, func(held context.Context, h *zksync.Hold) error {
			suite.Must(t, c.Delete(h.Node(), -1))
			<-held.Done()
			return nil
		})
		if suite.IsError(t, err, zksync.ErrLost); !ran {
			t.Error("did not run")
		}
	})
}

// An error of a Do whose lock was asked back says so; nil stays nil, since the lock was
// held.
func TestDoAfterARevocation(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, other := suite.Context(t), z.Dial(t), z.Dial(t)
		for name, opts := range map[string][]zksync.LockOption{"with": {zksync.WithCancelOnRevoke()}, "without": nil} {
			p := z.Path(t)
			m, sem := zksync.NewMutex(s, p, opts...), zksync.NewSemaphore(s, p+"-permits", 1, opts...)
			for what, do := range map[string]func(fn func(context.Context, *zksync.Hold) error) error{
				"Do": func(fn func(context.Context, *zksync.Hold) error) error { return m.Do(ctx, fn) },
				"TryDo": func(fn func(context.Context, *zksync.Hold) error) error {
					_, err := zksync.NewMulti(m).TryDo(ctx, fn)
					return err
				},
				"Do of permits": func(fn func(context.Context, *zksync.Hold) error) error { return sem.Do(ctx, 1, fn) },
			} {
				for _, result := range []error{nil, errWork, context.Canceled} {
					err := do(func(_ context.Context, h *zksync.Hold) error {
						suite.Must(t, other.Revoke(ctx, h.Node()))
						suite.Receive(t, h.Revoked())
						return result
					})
					switch {
					case result == nil:
						if err != nil {
							t.Errorf("%s, %s option: %v became %v", what, name, result, err)
						}
					default:
						if e := suite.IsError(t, err, result, zksync.ErrRevoked); e.Path == "" || e.Node == "" {
							t.Errorf("%s: %v", what, e)
						}
					}
				}
			}
			suite.IsError(t, m.Do(ctx, func(held context.Context, h *zksync.Hold) error {
				suite.Must(t, z.Raw(t).Delete(h.Node(), -1))
				<-held.Done()
				return errWork
			}), errWork, zksync.ErrLost)
			if err := m.Do(ctx, func(context.Context, *zksync.Hold) error { return errWork }); err != errWork {
				t.Errorf("asked back by nobody: %v", err)
			}
		}
	}, suite.Smoke)
}

// A Release in the function of a Do whose lock was asked back confirms, and one that does
// not is no failure of the work.
func TestReleaseInADo(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, other := suite.Context(t), z.Dial(t), z.Dial(t)
		m := zksync.NewMutex(s, z.Path(t), zksync.WithCancelOnRevoke())
		for _, lost := range []bool{false, true} {
			err := m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
				suite.Must(t, other.Revoke(suite.Context(t), h.Node()))
				suite.Receive(t, ctx.Done())
				if lost {
					suite.Must(t, z.Raw(t).Delete(h.Node(), -1))
					suite.IsError(t, h.Release(ctx), zksync.ErrLost)
					return nil
				}
				suite.Must(t, h.Release(ctx))
				return nil
			})
			if lost {
				suite.IsError(t, err, zksync.ErrLost)
			} else {
				suite.Must(t, err)
			}
		}
		suite.AtRest(t, s)
	}, suite.Timeless, suite.Smoke)
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s := z.Via(t, z.Server.Dial)
		m := zksync.NewMutex(s, z.Path(t))
		for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
			suite.Must(t, m.Do(suite.Context(t), func(_ context.Context, h *zksync.Hold) error {
				ctx := suite.DoneContext()
				if end == context.DeadlineExceeded {
					ctx = suite.BrieflyFor(t, time.Second)
				}
				z.Server.Blackhole()
				suite.IsError(t, h.Release(ctx), end)
				z.Server.Heal()
				return nil
			}))
		}
		suite.AtRest(t, s)
	})
}

// The error of a Do is one line, and Is all of its parts.
func TestDosErrorIsOneLine(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, c, p := z.Dial(t), z.Raw(t), z.Path(t)
		err := zksync.NewMutex(s, p).Do(suite.Context(t), func(held context.Context, h *zksync.Hold) error {
			suite.Must(t, c.Delete(h.Node(), -1))
			<-held.Done()
			return errWork
		})
		suite.IsError(t, err, errWork, zksync.ErrLost)
		if want := "the work failed; release " + p + ": lock lost: the lock's node was deleted"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	})
}
