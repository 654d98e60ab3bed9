package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Everybody's nodes in one queue, and what is none.
func TestInspect(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t, zksync.WithIdentity("till-1"))
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("clerk")
		w, err := rw.As(o).Hold(ctx)
		suite.Must(t, err)
		const sequential = zk.FlagEphemeral | zk.FlagSequence
		suite.Plant(t, raw, p+"/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f10-__READ__", "10.0.0.7", sequential)
		suite.Plant(t, raw, p+"/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__rlock__", "py", sequential)
		suite.Plant(t, raw, p+"/_c_6b3b7b1c4a534c4f8a2f2f0f5a3c8f12-lock-", "go", sequential)
		waits := suite.Async(func() error { return rw.RLockContext(ctx) })
		suite.InLine(t, raw, p, 5)
		suite.Plant(t, raw, p+"/junk", "", 0)

		q, err := s.Inspect(ctx, p)
		suite.Must(t, err)
		if len(q.Nodes) != 5 || !slices.Equal(q.Other, []string{"junk"}) || q.Path != p {
			t.Fatalf("%+v", q)
		}
		want := []struct {
			mode      zksync.Mode
			form      zksync.Form
			held      bool
			blockedBy int
			identity  string
		}{
			{zksync.ModeWrite, zksync.FormZKSync, true, 0, "till-1"},
			{zksync.ModeRead, zksync.FormCurator, false, 0, "10.0.0.7"},
			{zksync.ModeRead, zksync.FormKazoo, false, 0, "py"},
			{zksync.ModeMutex, zksync.FormZKLock, false, 2, ""},
			{zksync.ModeRead, zksync.FormZKSync, false, 3, "till-1"},
		}
		for i, want := range want {
			n := q.Nodes[i]
			if n.Mode != want.mode || n.Form != want.form || n.Held != want.held || n.Sequence != int64(i) || n.Identity != want.identity ||
				!n.Held && n.BlockedBy != q.Nodes[want.blockedBy].Node || n.Since.IsZero() || n.Session == 0 || path.Dir(n.Node) != p {
				t.Errorf("node %d: %+v, want %+v", i, n, want)
			}
		}
		if n := q.Nodes[0]; n.Identity != "till-1" || n.OwnerName != "clerk" || n.OwnerID == "" || n.PID == 0 || n.Host == "" ||
			n.Node != w.Node() || n.Fence != w.Fence() || n.Session != s.ID() {
			t.Errorf("ours: %+v", n)
		}
		for _, n := range q.Nodes[1:4] {
			suite.Must(t, s.Break(ctx, n.Node))
		}
		suite.Must(t, s.Revoke(ctx, w.Node()))
		suite.Receive(t, w.Revoked())
		if q, err := s.Inspect(ctx, p); err != nil || !q.Nodes[0].Revoked {
			t.Errorf("%+v, %v", q, err)
		}
		suite.Must(t, w.Release(ctx))
		suite.Must(t, suite.Receive(t, waits))
		rw.RUnlock()
		for _, bad := range []string{p, p + "/junk", p + "/_c_x-lock-", "lock-0000000001", ""} {
			if s.Break(ctx, bad) == nil || s.Revoke(ctx, bad) == nil {
				t.Errorf("%q is a lock node", bad)
			}
		}
		if err := s.Break(ctx, w.Node()); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("what is gone is broken: %v", err)
		}
		suite.Must(t, raw.Delete(p+"/junk", -1))
		if q, err := s.Inspect(ctx, p+"/nowhere"); err != nil || len(q.Nodes) != 0 {
			t.Errorf("%+v, %v", q, err)
		}
		if _, err := s.Inspect(ctx, "nowhere"); !errors.Is(err, zksync.ErrInvalidPath) {
			t.Error(err)
		}
	}, suite.Smoke)
}

// Three owners in three sessions, each of which holds what the one before wants.
func TestInspectTreeFindsADeadlock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		root, raw := z.Path(t), z.Raw(t)
		ctx, cancel := context.WithCancel(suite.Context(t))
		const n = 3
		var holds []*zksync.Hold
		var owners []zksync.Owner
		var open []*zksync.Session
		for i := range n {
			s, o := z.Dial(t), zksync.NewOwner(fmt.Sprint("owner-", i))
			h, err := zksync.NewMutex(s, fmt.Sprint(root, "/", i)).As(o).Hold(ctx)
			suite.Must(t, err)
			holds, owners, open = append(holds, h), append(owners, o), append(open, s)
		}
		s := open[0]
		if tree, err := s.InspectTree(ctx, root); err != nil || len(tree.Queues) != n || len(tree.Waits)+len(tree.Cycles) != 0 {
			t.Fatalf("%+v, %v", tree, err)
		}
		var waits []<-chan error
		for i := range n {
			p := fmt.Sprint(root, "/", (i+1)%n)
			waits = append(waits, suite.Async(func() error {
				return zksync.NewMutex(open[i], p).LockContext(zksync.WithOwner(ctx, owners[i]))
			}))
			suite.InLine(t, raw, p, 2)
		}
		tree, err := s.InspectTree(suite.Context(t), root)
		suite.Must(t, err)
		if len(tree.Cycles) != 1 || len(tree.Cycles[0].Waits) != n || !tree.Cycles[0].Certain {
			t.Fatalf("cycles: %+v", tree.Cycles)
		}
		for i, w := range tree.Cycles[0].Waits {
			next := tree.Cycles[0].Waits[(i+1)%n]
			if w.For != next.Owner || w.ForName != next.OwnerName || w.OwnerName == "" || w.Node == "" || w.ForNode == "" {
				t.Errorf("%+v", w)
			}
		}
		cancel()
		for i := range n {
			if err := suite.Receive(t, waits[i]); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			suite.Must(t, holds[i].Release(suite.Context(t)))
		}
	}, suite.Timeless)
}

// Do with a lock that can be asked back: the work's context ends.
func TestRevocable(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		s, other := z.Dial(t), z.Dial(t)
		rw := zksync.NewRWMutex(s, p, zksync.WithCancelOnRevoke())
		for name, l := range map[string]zksync.Locker{"write": rw, "read": rw.RLocker(), "mutex": zksync.NewMutex(s, p, zksync.WithCancelOnRevoke())} {
			err := l.Do(ctx, func(held context.Context, h *zksync.Hold) error {
				if err := other.Revoke(ctx, h.Node()); err != nil {
					return err
				}
				<-held.Done()
				if h.Err() != nil {
					t.Errorf("%s: the lock is lost: %v", name, h.Err())
				}
				return context.Cause(held)
			})
			if e := suite.IsError(t, err, zksync.ErrRevoked); e.Path != p || e.Node == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		z.Empty(t, p)
	})
}

// With a second node, which kazoo sees.
func TestKazooQueue(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		m := zksync.NewMutex(s, p, zksync.WithKazooName())
		m.Lock()
		q, err := s.Inspect(ctx, p)
		suite.Must(t, err)
		if len(q.Nodes) != 2 || q.Nodes[0].Sequence+1 != q.Nodes[1].Sequence || path.Base(q.Nodes[1].Node)[32:40] != "__lock__" {
			t.Fatalf("%+v", q)
		}
		if err := zksync.NewMutex(s, p).LockContext(ctx); err == nil {
			t.Error("two values of one path differ in what shows")
		}
		next := suite.Async(func() error { return zksync.NewMutex(other, p, zksync.WithKazooName()).LockContext(ctx) })
		suite.InLine(t, raw, p, 4)
		local := suite.Async(func() error { return m.LockContext(ctx) })
		suite.AwaitWaiting(t, s, 1)
		m.Unlock() // to the goroutine next door
		suite.Must(t, suite.Receive(t, local))
		suite.InLine(t, raw, p, 4)
		m.Unlock()
		suite.Must(t, suite.Receive(t, next))
		suite.InLine(t, raw, p, 2)
		theirs := suite.Plant(t, raw, p+"/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__", "py", zk.FlagEphemeral|zk.FlagSequence)
		again := suite.Async(func() error { return m.LockContext(ctx) })
		suite.InLine(t, raw, p, 5)
		zksync.NewMutex(other, p, zksync.WithKazooName()).Unlock()
		suite.InLine(t, raw, p, 3)
		suite.NotYet(t, again)
		suite.Must(t, raw.Delete(theirs, -1))
		suite.Must(t, suite.Receive(t, again))
		m.Unlock()
		z.Empty(t, p)
	})
}
