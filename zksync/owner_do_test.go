package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// inDo is what is asked for in a Do, and what the Do holds.
var inDo = map[string]func(s *zksync.Session, p string) (held, asked zksync.Locker){
	"the same": func(s *zksync.Session, p string) (held, asked zksync.Locker) { m := zksync.NewMutex(s, p); return m, m },
	"another value for the path": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		return zksync.NewMutex(s, p), zksync.NewMutex(s, p)
	},
	"to write while it reads": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		rw := zksync.NewRWMutex(s, p)
		return rw.RLocker(), rw
	},
	"to read while it writes": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		rw := zksync.NewRWMutex(s, p)
		return rw, rw.RLocker()
	},
	"to read while it reads": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		rw := zksync.NewRWMutex(s, p)
		return rw.RLocker(), rw.RLocker()
	},
	"a part of a Multi": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		m := zksync.NewMutex(s, p)
		return zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m), m
	},
	"a Multi of a part": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		m := zksync.NewMutex(s, p)
		return m, zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m)
	},
	"another Multi": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		m := zksync.NewMutex(s, p)
		return zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m), zksync.NewMulti(zksync.NewMutex(s, p+"-3"), m)
	},
	"by As, for another owner": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		m := zksync.NewMutex(s, p)
		return m.As(zksync.NewOwner("a")), m.As(zksync.NewOwner("b"))
	},
	"for nobody, what As has": func(s *zksync.Session, p string) (held, asked zksync.Locker) {
		m := zksync.NewMutex(s, p)
		return m.As(zksync.NewOwner("a")), m
	},
}

// Do's context does not make a lock re-entrant: a call for the same lock with it fails at
// once, also with a detached context, until the Do has ended. After that it is a call
// like any other.
func TestCallsForTheLockOfADo(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		for name, locks := range inDo {
			t.Run(name, func(t *testing.T) {
				p, ctx := z.Path(t), suite.Context(t)
				held, asked := locks(s, p)
				var late context.Context
				suite.Must(t, held.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
					late = context.WithoutCancel(ctx)
					before := s.Stats().Requests
					for _, ctx := range []context.Context{ctx, h.Context(ctx), late} {
						for _, call := range suite.Calls {
							_, err := call.Take(ctx, asked)
							suite.IsError(t, err, zksync.ErrDeadlock)
						}
					}
					if n := s.Stats().Requests - before; n > 2 { // a probe is none of theirs
						t.Errorf("%d requests", n)
					}
					return h.Err()
				}))
				suite.Must(t, asked.LockContext(late))
				if name == "the same" {
					if got, err := asked.TryLockContext(late); got || err != nil {
						t.Errorf("with the context of a Do that is over: %v, %v", got, err)
					}
				}
				suite.Must(t, asked.UnlockContext(late))
			})
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// What a Do does not hold is nothing to it: another path, another session, permits.
func TestCallsForOtherLocksInDo(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
		m, elsewhere := zksync.NewMutex(s, p), zksync.NewMutex(other, p)
		sem := zksync.NewSemaphore(s, z.Path(t), 3)
		suite.Must(t, m.Do(suite.Context(t), func(ctx context.Context, _ *zksync.Hold) error {
			if got, err := elsewhere.TryLockContext(ctx); got || err != nil {
				t.Errorf("on another session: %v, %v", got, err)
			}
			return zksync.NewMutex(s, z.Path(t)).Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
				if _, err := m.TryHold(ctx); !errors.Is(err, zksync.ErrDeadlock) {
					t.Errorf("the outer one's: %v", err)
				}
				return sem.Do(ctx, 1, func(ctx context.Context, _ *zksync.Hold) error {
					if _, err := m.TryHold(ctx); !errors.Is(err, zksync.ErrDeadlock) {
						t.Errorf("within permits: %v", err)
					}
					suite.Must(t, sem.Acquire(ctx, 1))
					sem.Release(1)
					return nil
				})
			})
		}))
		suite.AtRest(t, s)
	})
}

// In a Do, as anywhere, a call enters for an owner who holds the lock, and for no other.
// The innermost owner counts.
func TestOwnersInDo(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m, elsewhere := zksync.NewMutex(s, p), zksync.NewMutex(z.Dial(t), p)
		a, b := zksync.NewOwner("a"), zksync.NewOwner("b")
		outer := zksync.WithOwner(suite.Context(t), a)
		suite.Must(t, m.Do(outer, func(ctx context.Context, h *zksync.Hold) error {
			for _, call := range suite.Calls {
				for name, enter := range map[string]func() (func(context.Context) error, error){
					"ctx": func() (func(context.Context) error, error) { return call.Take(ctx, m) },
					"As":  func() (func(context.Context) error, error) { return call.Take(zksync.WithOwner(ctx, b), m.As(a)) },
				} {
					free, err := enter()
					if err != nil {
						t.Errorf("%s, by %s: %v", call.Name, name, err)
						continue
					}
					suite.Must(t, free(ctx))
				}
				for name, refused := range map[string]func() (func(context.Context) error, error){
					"inner": func() (func(context.Context) error, error) { return call.Take(zksync.WithOwner(ctx, b), m) },
					"nobody": func() (func(context.Context) error, error) {
						return call.Take(zksync.WithOwner(ctx, zksync.Owner{}), m)
					},
					"As of b": func() (func(context.Context) error, error) { return call.Take(ctx, m.As(b)) },
				} {
					if _, err := refused(); !errors.Is(err, zksync.ErrDeadlock) {
						t.Errorf("%s, by %s: %v", call.Name, name, err)
					}
				}
			}
			suite.Must(t, m.Do(ctx, func(_ context.Context, again *zksync.Hold) error {
				if again.Fence() != h.Fence() {
					t.Errorf("fence %d within %d", again.Fence(), h.Fence())
				}
				return nil
			}))
			suite.Must(t, h.Err())
			if elsewhere.TryLock() {
				t.Error("given back")
			}
			return nil
		}))
		suite.LockAndUnlock(t, elsewhere)
		// As makes the calls on one value for an owner, not those of the Do's context.
		suite.Must(t, m.As(a).Do(suite.Context(t), func(ctx context.Context, _ *zksync.Hold) error {
			if o, found := zksync.OwnerFrom(ctx); found {
				t.Errorf("its context carries the owner %v", o)
			}
			suite.Must(t, m.As(a).LockContext(ctx))
			return m.As(a).UnlockContext(ctx)
		}))
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}
