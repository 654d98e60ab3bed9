package lessons_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A lock that is given back while disconnected is deleted after reconnecting,
// though its session lives and nobody asks again.
func TestUnlockWhileDisconnected(t *testing.T) {
	t.Parallel()
	for _, way := range bounded {
		name, take := way.Name, way.Lock
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				path := z.Path(t)
				p, s := z.Behind(t)
				m, other := zksync.NewMutex(s, path), z.Dial(t)
				ctx, cancel := context.WithCancel(suite.Context(t))
				release, err := take(ctx, m)
				suite.Must(t, err)
				id := s.ID()
				suite.CutOffUntilKnown(t, p, s)
				cancel() // the deletion does not depend on it
				suite.Within(t, 0, func() { suite.IsError(t, release(), context.Canceled) })
				if n := s.Stats().CleanupPending; n != 1 {
					t.Errorf("%d nodes to be deleted, want 1", n)
				}
				p.Heal()
				suite.LockAndUnlock(t, zksync.NewMutex(other, path))
				if s.ID() != id {
					t.Error("it took the end of the session")
				}
				suite.AtRest(t, s)
				z.Empty(t, path)
			})
		})
	}
	t.Run("Unlock", func(t *testing.T) {
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			path := z.Path(t)
			p, s := z.Behind(t)
			m := zksync.NewMutex(s, path)
			m.Lock()
			suite.CutOffUntilKnown(t, p, s)
			suite.Within(t, s.Timeout()/3, m.Unlock)
			p.Heal()
			suite.LockAndUnlock(t, zksync.NewMutex(z.Dial(t), path))
		})
	})
}

// The answer to a deletion is lost: asking again finds no node, which is
// success and no loss. Deletions of one hold never touch the next.
func TestDeletionsAreOfOneHold(t *testing.T) {
	suite.Beside(t)
	t.Run("AnswerLost", func(t *testing.T) {
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			ctx, path := suite.Context(t), z.Path(t)
			p, s := z.Behind(t)
			h, err := zksync.NewMutex(s, path).Hold(ctx)
			suite.Must(t, err)
			var lost atomic.Bool
			p.ResetRequests()
			p.SetHook(func(f ensemble.Frame) ensemble.Action {
				if f.FromServer && f.Op == "delete" && lost.CompareAndSwap(false, true) {
					return ensemble.DropAndDisconnect
				}
				return ensemble.Pass
			})
			suite.Must(t, h.Release(ctx))
			if n := p.Requests()["delete"]; n != 2 {
				t.Errorf("%d deletions, want 2", n)
			}
			if n := s.Stats().Losses; n != 0 {
				t.Errorf("%d losses", n)
			}
		})
	})
	t.Run("NextHold", func(t *testing.T) {
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
			p, s := z.Behind(t)
			m := zksync.NewMutex(s, path)
			first, err := m.Hold(ctx)
			suite.Must(t, err)
			suite.CutOffUntilKnown(t, p, s)
			suite.IsError(t, first.Release(suite.DoneContext()), context.Canceled)
			next := suite.Async(func() suite.Grant {
				h, err := m.Hold(ctx)
				return suite.Grant{Hold: h, Err: err}
			})
			suite.AwaitWaiting(t, s, 1)
			p.Heal()
			g := suite.Receive(t, next)
			suite.Must(t, g.Err)
			suite.Eventually(t, "the first hold's node is deleted", func() bool { return s.Stats().CleanupPending == 0 })
			if node := suite.NodeOf(t, raw, path, s); node != g.Hold.Node() || node == first.Node() {
				t.Errorf("left is %s, the first hold's is %s, the next one's %s", node, first.Node(), g.Hold.Node())
			}
			suite.Must(t, g.Hold.Err())
			suite.IsError(t, first.Release(ctx), context.Canceled) // repeats its result
			suite.Must(t, g.Hold.Release(ctx))
		})
	})
}

// A deletion that can't succeed is not tried again. Any other is, at a bounded rate,
// however long ZooKeeper is away.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("Refused", func(t *testing.T) {
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
			p := z.Proxied(t)
			s := suite.DialUnchecked(t, []string{p.Addr()})
			suite.LockAndUnlock(t, zksync.NewMutex(s, path+"-beside")) // makes the parents
			_, err := raw.Create(path, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermDelete))
			suite.Must(t, err)
			h, err := zksync.NewMutex(s, path).Hold(ctx)
			suite.Must(t, err)
			p.ResetRequests()
			suite.IsError(t, h.Release(ctx), zk.ErrNoAuth)
			suite.SleepReal(suite.Overrun)
			if n := p.Requests()["delete"]; n != 1 {
				t.Errorf("%d deletions, want 1", n)
			}
			_, err = raw.SetACL(path, zk.WorldACL(zk.PermAll), -1)
			suite.Must(t, err)
			suite.CloseNames(t, s.Close(), "refused to delete", h.Node())
		})
	})
	t.Run("Away", func(t *testing.T) {
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			path := z.Path(t)
			var w suite.Wires
			p, s := z.Behind(t, suite.WithDialer(w.Dial))
			m := zksync.NewMutex(s, path)
			suite.Must(t, m.LockContext(suite.Context(t)))
			suite.CutOffUntilKnown(t, p, s)
			suite.IsError(t, m.UnlockContext(suite.DoneContext()), context.Canceled)
			before, requests := w.Count(), s.Stats().Requests
			suite.SleepReal(2 * time.Second)
			// 20 ms, doubled each time up to a sixth of T, and half of each at
			// least: 8 dials at the most.
			if n := w.Count() - before; n < 2 || n > 10 {
				t.Errorf("%d dials in 2 s", n)
			}
			if n := s.Stats().Requests - requests; n != 0 {
				t.Errorf("%d requests while there was no connection", n)
			}
			p.ResetRequests()
			p.Heal()
			z.Empty(t, path)
			suite.AtRest(t, s)
			if n := p.Requests()["delete"]; n != 1 {
				t.Errorf("%d deletions after ZooKeeper was back, want 1", n)
			}
		})
	})
}

// The library never deletes the parent: that would race with new calls.
func TestParentStays(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		path, raw := z.Path(t), z.Raw(t)
		p, s := z.Behind(t)
		var others atomic.Int32
		p.SetHook(func(f ensemble.Frame) ensemble.Action {
			if !f.FromServer && f.Op == "delete" && !bytes.Contains(f.Payload, []byte("_c_")) {
				others.Add(1)
			}
			return ensemble.Pass
		})
		for _, way := range bounded {
			name, take := way.Name, way.Lock
			release, err := take(suite.Context(t), zksync.NewMutex(s, path))
			suite.Must(t, err)
			suite.Must(t, release())
			if there, _, err := raw.Exists(path); err != nil || !there {
				t.Errorf("%s: the parent is gone (%v)", name, err)
			}
		}
		if n := others.Load(); n != 0 {
			t.Errorf("%d deletions of something that is no lock node", n)
		}
	})
}
