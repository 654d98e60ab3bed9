package zksync_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A lock that is given back while disconnected is deleted after reconnecting,
// though its session lives and nobody asks again.
func TestLesson43_UnlockWhileDisconnected(t *testing.T) {
	t.Parallel()
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				path := lockPath(t)
				p, s := z.behind(t)
				m, other := zksync.NewMutex(s, path), z.dial(t)
				ctx, cancel := context.WithCancel(short(t))
				release, err := take(ctx, m)
				ok(t, err)
				id := s.ID()
				offUntilKnown(t, p, s)
				cancel() // the deletion does not depend on it
				within(t, 0, func() { isError(t, release(), context.Canceled) })
				if n := s.Stats().CleanupPending; n != 1 {
					t.Errorf("%d nodes to be deleted, want 1", n)
				}
				p.Heal()
				free(t, zksync.NewMutex(other, path))
				if s.ID() != id {
					t.Error("it took the end of the session")
				}
				atRest(t, s)
				z.empty(t, path)
			})
		})
	}
	t.Run("Unlock", func(t *testing.T) {
		onServers(t, func(t *testing.T, z *site) {
			path := lockPath(t)
			p, s := z.behind(t)
			m := zksync.NewMutex(s, path)
			m.Lock()
			offUntilKnown(t, p, s)
			within(t, s.Timeout()/3, m.Unlock)
			p.Heal()
			free(t, zksync.NewMutex(z.dial(t), path))
		})
	})
}

// The answer to a deletion is lost: asking again finds no node, which is
// success and no loss. Deletions of one hold never touch the next.
func TestLesson44_DeletionsAreOfOneHold(t *testing.T) {
	t.Run("AnswerLost", func(t *testing.T) {
		onServers(t, func(t *testing.T, z *site) {
			ctx, path := short(t), lockPath(t)
			p, s := z.behind(t)
			h, err := zksync.NewMutex(s, path).Hold(ctx)
			ok(t, err)
			var lost atomic.Bool
			p.ResetRequests()
			p.SetHook(func(f zktest.Frame) zktest.Action {
				if f.FromServer && f.Op == "delete" && lost.CompareAndSwap(false, true) {
					return zktest.DropAndCut
				}
				return zktest.Pass
			})
			ok(t, h.Release(ctx))
			if n := p.Requests()["delete"]; n != 2 {
				t.Errorf("%d deletions, want 2", n)
			}
			if n := s.Stats().Losses; n != 0 {
				t.Errorf("%d losses", n)
			}
		})
	})
	t.Run("NextHold", func(t *testing.T) {
		onServers(t, func(t *testing.T, z *site) {
			ctx, path, raw := short(t), lockPath(t), z.raw(t)
			p, s := z.behind(t)
			m := zksync.NewMutex(s, path)
			first, err := m.Hold(ctx)
			ok(t, err)
			offUntilKnown(t, p, s)
			isError(t, first.Release(done()), context.Canceled)
			next := async(func() grant {
				h, err := m.Hold(ctx)
				return grant{hold: h, err: err}
			})
			waiting(t, s, 1)
			p.Heal()
			g := get(t, next)
			ok(t, g.err)
			eventually(t, "the first hold's node is deleted", func() bool { return s.Stats().CleanupPending == 0 })
			if node := nodeOf(t, raw, path, s); node != g.hold.Node() || node == first.Node() {
				t.Errorf("left is %s, the first hold's is %s, the next one's %s", node, first.Node(), g.hold.Node())
			}
			ok(t, g.hold.Err())
			isError(t, first.Release(ctx), context.Canceled) // repeats its result
			ok(t, g.hold.Release(ctx))
		})
	})
}

// What can't succeed is not tried again; what can is, at a bounded rate, however
// long ZooKeeper is away.
func TestLesson45_RetriesAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("Refused", func(t *testing.T) {
		onServers(t, func(t *testing.T, z *site) {
			ctx, path, raw := short(t), lockPath(t), z.raw(t)
			p := z.proxied(t)
			s := dialUnchecked(t, []string{p.Addr()})
			free(t, zksync.NewMutex(s, path+"-beside")) // makes the parents
			_, err := raw.Create(path, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermDelete))
			ok(t, err)
			h, err := zksync.NewMutex(s, path).Hold(ctx)
			ok(t, err)
			p.ResetRequests()
			isError(t, h.Release(ctx), zk.ErrNoAuth)
			pass(overrun)
			if n := p.Requests()["delete"]; n != 1 {
				t.Errorf("%d deletions, want 1", n)
			}
			_, err = raw.SetACL(path, zk.WorldACL(zk.PermAll), -1)
			ok(t, err)
			closeNames(t, s.Close(), "refused to delete", h.Node())
		})
	})
	t.Run("Away", func(t *testing.T) {
		onServers(t, func(t *testing.T, z *site) {
			path := lockPath(t)
			var w wires
			p, s := z.behind(t, zksync.WithDialer(w.dial))
			m := zksync.NewMutex(s, path)
			ok(t, m.LockContext(short(t)))
			offUntilKnown(t, p, s)
			isError(t, m.UnlockContext(done()), context.Canceled)
			before, requests := w.count(), s.Stats().Requests
			pass(2 * time.Second)
			// 20 ms, doubled each time up to a sixth of T, and half of each at
			// least: 8 dials at the most.
			if n := w.count() - before; n < 2 || n > 10 {
				t.Errorf("%d dials in 2 s", n)
			}
			if n := s.Stats().Requests - requests; n != 0 {
				t.Errorf("%d requests while there was no connection", n)
			}
			p.ResetRequests()
			p.Heal()
			z.empty(t, path)
			atRest(t, s)
			if n := p.Requests()["delete"]; n != 1 {
				t.Errorf("%d deletions after ZooKeeper was back, want 1", n)
			}
		})
	})
}

// Nobody deletes the parent: it would race with newcomers.
func TestLesson48_ParentStays(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		path, raw := lockPath(t), z.raw(t)
		p, s := z.behind(t)
		var others atomic.Int32
		p.SetHook(func(f zktest.Frame) zktest.Action {
			if !f.FromServer && f.Op == "delete" && !bytes.Contains(f.Payload, []byte("_c_")) {
				others.Add(1)
			}
			return zktest.Pass
		})
		for name, take := range takes {
			release, err := take(short(t), zksync.NewMutex(s, path))
			ok(t, err)
			ok(t, release())
			if there, _, err := raw.Exists(path); err != nil || !there {
				t.Errorf("%s: the parent is gone (%v)", name, err)
			}
		}
		if n := others.Load(); n != 0 {
			t.Errorf("%d deletions of something that is no lock node", n)
		}
	})
}
