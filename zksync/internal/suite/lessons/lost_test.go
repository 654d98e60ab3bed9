package lessons_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Whatever ends a hold, its context ends, and the cause says why.
func TestHolderIsTold(t *testing.T) {
	suite.Beside(t)
	for name, end := range map[string]func(t *testing.T, z *suite.Ground, s *zksync.Session, h *zksync.Hold){
		"NodeDeleted": func(t *testing.T, z *suite.Ground, _ *zksync.Session, h *zksync.Hold) {
			suite.Must(t, z.Raw(t).Delete(h.Node(), -1))
		},
		"Expired": func(t *testing.T, z *suite.Ground, s *zksync.Session, _ *zksync.Hold) {
			suite.Must(t, z.Expire(s.ID()))
		},
		"Closed": func(t *testing.T, _ *suite.Ground, s *zksync.Session, _ *zksync.Hold) {
			suite.Must(t, s.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				ctx, path := suite.Context(t), z.Path(t)
				s := z.Dial(t)
				h, err := zksync.NewMutex(s, path).Hold(ctx)
				suite.Must(t, err)
				one, two := h.Context(ctx), h.Context(context.Background())
				suite.Must(t, one.Err())
				end(t, z, s, h)
				// Well before the next proof of life, which would find out, too.
				suite.Within(t, 0, func() { suite.Receive(t, one.Done()); suite.Receive(t, two.Done()) })
				for _, held := range []context.Context{one, two, h.Context(ctx)} {
					if err := held.Err(); !errors.Is(err, context.Canceled) {
						t.Errorf("the context's Err: %v", err)
					}
					if cause := context.Cause(held); !errors.Is(cause, zksync.ErrLost) || cause == zksync.ErrLost {
						t.Errorf("the context's cause says %v", cause)
					}
				}
				if err := h.Err(); !errors.Is(err, zksync.ErrLost) {
					t.Errorf("Err: %v", err)
				}
				first := h.Release(ctx)
				suite.IsError(t, first, zksync.ErrLost)
				if again := h.Release(ctx); again != first {
					t.Errorf("Release again: %v, first %v", again, first)
				}
			}, suite.Smoke)
		})
	}
}

// A plain lock that is lost keeps its place in this process until its own
// Unlock, which touches nothing; otherwise that would release the hold of the
// next goroutine. Other sessions are not held up, and the log reports the loss.
func TestDeferredUnlockOfALostLock(t *testing.T) {
	suite.Beside(t)
	for name, unlock := range map[string]func(t *testing.T, m *zksync.Mutex){
		"Unlock": func(_ *testing.T, m *zksync.Mutex) { m.Unlock() },
		"UnlockContext": func(t *testing.T, m *zksync.Mutex) {
			suite.IsError(t, m.UnlockContext(suite.Context(t)), zksync.ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
				var log suite.Notes
				p, s := z.Behind(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				other := zksync.NewMutex(z.Dial(t), path)
				m := zksync.NewMutex(s, path)
				m.Lock()
				node := suite.NodeOf(t, raw, path, s)
				next := suite.Async(func() error { return m.LockContext(ctx) })
				suite.AwaitWaiting(t, s, 1)
				suite.Must(t, z.Expire(s.ID()))
				suite.Eventually(t, "the loss is logged", func() bool {
					return log.Count("level=ERROR", path, node, "lost") > 0
				})
				suite.LockAndUnlock(t, other) // nobody else is held up

				// The lost lock's place is kept here, and only here.
				suite.InLine(t, raw, path, 0)
				select {
				case err := <-next:
					t.Fatalf("the next goroutine got the lock before the lost one's Unlock (%v)", err)
				default:
				}
				suite.Eventually(t, "the loss leaves nothing to delete", func() bool { return s.Stats().CleanupPending == 0 })
				p.ResetRequests()
				unlock(t, m)
				suite.Must(t, suite.Receive(t, next))
				suite.NodeOf(t, raw, path, s)
				if n := p.Requests()["delete"]; n != 0 {
					t.Errorf("%d deletions by the Unlock of a lost lock", n)
				}
				if taken, err := other.TryLockContext(ctx); taken || err != nil {
					t.Errorf("another session's try beside the next holder: %v, %v", taken, err)
				}
				suite.Must(t, m.UnlockContext(ctx))
				z.Empty(t, path)
			})
		})
	}
}

// A node that somebody broke is handed to nobody: whoever holds next stands on
// a node that is there.
func TestBrokenNodeIsNotHandedOver(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		m := zksync.NewMutex(s, path)
		suite.Must(t, m.LockContext(ctx))
		node := suite.NodeOf(t, raw, path, s)
		var inside atomic.Int32
		held := func(s *zksync.Session) error {
			defer inside.Add(-1)
			if n := inside.Add(1); n != 1 {
				return fmt.Errorf("%d holders", n)
			}
			names, _, err := raw.Children(path)
			if err != nil {
				return err
			}
			stands := false
			for _, name := range names {
				_, stat, err := raw.Exists(path + "/" + name)
				stands = stands || err == nil && stat != nil && stat.EphemeralOwner == s.ID()
			}
			if !stands {
				return fmt.Errorf("a tenure without a node: %v", names)
			}
			return nil
		}
		tenure := func(s *zksync.Session) error {
			m := zksync.NewMutex(s, path)
			if err := m.LockContext(ctx); err != nil {
				return err
			}
			return errors.Join(held(s), m.UnlockContext(ctx))
		}
		var results []<-chan error
		for range 16 {
			results = append(results, suite.Async(func() error { return tenure(s) }))
		}
		suite.AwaitWaiting(t, s, 16)
		results = append(results, suite.Async(func() error { return tenure(other) }))
		suite.InLine(t, raw, path, 2)
		suite.Must(t, raw.Delete(node, -1))
		suite.Eventually(t, "the loss is known", func() bool { return s.Stats().Losses == 1 })
		suite.IsError(t, m.UnlockContext(ctx), zksync.ErrLost)
		for _, r := range results {
			suite.Must(t, suite.Receive(t, r))
		}
		z.Empty(t, path)
	})
}
