package zksync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// Whatever ends a hold, its holder is told, and told why.
func TestLesson37_HolderIsTold(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, z *site, s *zksync.Session, h *zksync.Hold){
		"NodeDeleted": func(t *testing.T, z *site, _ *zksync.Session, h *zksync.Hold) {
			ok(t, z.raw(t).Delete(h.Node(), -1))
		},
		"Expired": func(t *testing.T, z *site, s *zksync.Session, _ *zksync.Hold) {
			ok(t, z.expire(s.ID()))
		},
		"Closed": func(t *testing.T, _ *site, s *zksync.Session, _ *zksync.Hold) {
			ok(t, s.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				ctx, path := short(t), lockPath(t)
				s := z.dial(t)
				h, err := zksync.NewMutex(s, path).Hold(ctx)
				ok(t, err)
				one, two := h.Context(ctx), h.Context(context.Background())
				ok(t, one.Err())
				end(t, z, s, h)
				// Well before the next proof of life, which would find out, too.
				within(t, 0, func() { get(t, one.Done()); get(t, two.Done()) })
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
				isError(t, first, zksync.ErrLost)
				if again := h.Release(ctx); again != first {
					t.Errorf("Release again: %v, first %v", again, first)
				}
			})
		})
	}
}

// notes is a log that can be read.
type notes struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}

// count is the number of lines that hold all of the texts.
func (n *notes) count(texts ...string) int {
	found := 0
	for line := range strings.Lines(n.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found++
		}
	}
	return found
}

// A plain lock that is lost keeps its place in this process until its own
// Unlock, which touches nothing; otherwise that would release the hold of the
// next goroutine. Other sessions are not held up, and the log tells.
func TestLesson65_DeferredUnlockOfALostLock(t *testing.T) {
	for name, unlock := range map[string]func(t *testing.T, m *zksync.Mutex){
		"Unlock": func(_ *testing.T, m *zksync.Mutex) { m.Unlock() },
		"UnlockContext": func(t *testing.T, m *zksync.Mutex) {
			isError(t, m.UnlockContext(short(t)), zksync.ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				ctx, path, raw := short(t), lockPath(t), z.raw(t)
				var log notes
				p, s := z.behind(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				other := zksync.NewMutex(z.dial(t), path)
				m := zksync.NewMutex(s, path)
				m.Lock()
				node := nodeOf(t, raw, path, s)
				next := async(func() error { return m.LockContext(ctx) })
				waiting(t, s, 1)
				ok(t, z.expire(s.ID()))
				eventually(t, "the loss is logged", func() bool {
					return log.count("level=ERROR", path, node, "lost") > 0
				})
				free(t, other) // nobody else is held up

				// The lost lock's place is kept here, and only here.
				lineOf(t, raw, path, 0)
				select {
				case err := <-next:
					t.Fatalf("the next goroutine got the lock before the lost one's Unlock (%v)", err)
				default:
				}
				eventually(t, "the loss leaves nothing to delete", func() bool { return s.Stats().CleanupPending == 0 })
				p.ResetRequests()
				unlock(t, m)
				ok(t, get(t, next))
				nodeOf(t, raw, path, s)
				if n := p.Requests()["delete"]; n != 0 {
					t.Errorf("%d deletions by the Unlock of a lost lock", n)
				}
				if taken, err := other.TryLockContext(ctx); taken || err != nil {
					t.Errorf("another session's try beside the next holder: %v, %v", taken, err)
				}
				ok(t, m.UnlockContext(ctx))
				z.empty(t, path)
			})
		})
	}
}

// A node that somebody broke is handed to nobody: whoever holds next stands on
// a node that is there.
func TestLesson71_BrokenNodeIsNotHandedOver(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, path, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t), z.dial(t)
		m := zksync.NewMutex(s, path)
		ok(t, m.LockContext(ctx))
		node := nodeOf(t, raw, path, s)
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
			results = append(results, async(func() error { return tenure(s) }))
		}
		waiting(t, s, 16)
		results = append(results, async(func() error { return tenure(other) }))
		lineOf(t, raw, path, 2)
		ok(t, raw.Delete(node, -1))
		eventually(t, "the loss is known", func() bool { return s.Stats().Losses == 1 })
		isError(t, m.UnlockContext(ctx), zksync.ErrLost)
		for _, r := range results {
			ok(t, get(t, r))
		}
		z.empty(t, path)
	})
}
