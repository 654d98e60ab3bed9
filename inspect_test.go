package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// plant makes a node as another program would.
func plant(t *testing.T, c *zk.Conn, path, data string, flags int32) string {
	t.Helper()
	p, err := c.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	ok(t, err)
	return p
}

// Everybody's nodes in one queue, and what is none.
func TestInspect(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s := z.dial(t, zksync.WithIdentity("till-1"))
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("clerk")
		w, err := rw.As(o).Hold(ctx)
		ok(t, err)
		const sequential = zk.FlagEphemeral | zk.FlagSequence
		plant(t, raw, p+"/_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f10-__READ__", "10.0.0.7", sequential)
		plant(t, raw, p+"/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__rlock__", "py", sequential)
		plant(t, raw, p+"/_c_6b3b7b1c4a534c4f8a2f2f0f5a3c8f12-lock-", "", sequential)
		waits := async(func() error { return rw.RLockContext(ctx) })
		lineOf(t, raw, p, 5)
		plant(t, raw, p+"/junk", "", 0)

		q, err := s.Inspect(ctx, p)
		ok(t, err)
		if len(q.Nodes) != 5 || !slices.Equal(q.Other, []string{"junk"}) || q.Path != p {
			t.Fatalf("%+v", q)
		}
		want := []struct {
			mode      zksync.Mode
			form      string
			held      bool
			blockedBy int
		}{
			{zksync.ModeWrite, "zksync", true, 0},
			{zksync.ModeRead, "curator", false, 0},
			{zksync.ModeRead, "kazoo", false, 0},
			{zksync.ModeMutex, "zk.Lock", false, 2},
			{zksync.ModeRead, "zksync", false, 3},
		}
		for i, want := range want {
			n := q.Nodes[i]
			if n.Mode != want.mode || n.Form != want.form || n.Held != want.held || n.Sequence != int64(i) ||
				!n.Held && n.BlockedBy != q.Nodes[want.blockedBy].Name || n.Since.IsZero() || n.Session == 0 || n.Path != p+"/"+n.Name {
				t.Errorf("node %d: %+v, want %+v", i, n, want)
			}
		}
		if n := q.Nodes[0]; n.Identity != "till-1" || n.OwnerName != "clerk" || n.OwnerID == "" || n.PID == 0 || n.Host == "" ||
			n.Path != w.Node() || n.Fence != w.Fence() || n.Session != s.ID() {
			t.Errorf("ours: %+v", n)
		}
		for _, n := range q.Nodes[1:4] {
			ok(t, s.Break(ctx, n.Path))
		}
		ok(t, s.Revoke(ctx, w.Node()))
		get(t, w.Revoked())
		if q, err := s.Inspect(ctx, p); err != nil || !q.Nodes[0].Revoked {
			t.Errorf("%+v, %v", q, err)
		}
		ok(t, w.Release(ctx))
		ok(t, get(t, waits))
		rw.RUnlock()
		for _, bad := range []string{p, p + "/junk", p + "/_c_x-lock-", "lock-0000000001", ""} {
			if s.Break(ctx, bad) == nil || s.Revoke(ctx, bad) == nil {
				t.Errorf("%q is a lock node", bad)
			}
		}
		if err := s.Break(ctx, w.Node()); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("what is gone is broken: %v", err)
		}
		ok(t, raw.Delete(p+"/junk", -1))
		if q, err := s.Inspect(ctx, p+"/nowhere"); err != nil || len(q.Nodes) != 0 {
			t.Errorf("%+v, %v", q, err)
		}
		if _, err := s.Inspect(ctx, "nowhere"); !errors.Is(err, zksync.ErrInvalidPath) {
			t.Error(err)
		}
	})
}

// Three owners in three sessions, each of which holds what the one before wants.
func TestInspectTreeFindsADeadlock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		root, raw := lockPath(t), z.raw(t)
		ctx, cancel := context.WithCancel(short(t))
		const n = 3
		var holds []*zksync.Hold
		var owners []zksync.Owner
		var open []*zksync.Session
		for i := range n {
			s, o := z.dial(t), zksync.NewOwner(fmt.Sprint("owner-", i))
			h, err := zksync.NewMutex(s, fmt.Sprint(root, "/", i)).As(o).Hold(ctx)
			ok(t, err)
			holds, owners, open = append(holds, h), append(owners, o), append(open, s)
		}
		s := open[0]
		if tree, err := s.InspectTree(ctx, root); err != nil || len(tree.Queues) != n || len(tree.Waits)+len(tree.Cycles) != 0 {
			t.Fatalf("%+v, %v", tree, err)
		}
		var waits []<-chan error
		for i := range n {
			p := fmt.Sprint(root, "/", (i+1)%n)
			waits = append(waits, async(func() error {
				return zksync.NewMutex(open[i], p).LockContext(zksync.WithOwner(ctx, owners[i]))
			}))
			lineOf(t, raw, p, 2)
		}
		tree, err := s.InspectTree(short(t), root)
		ok(t, err)
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
			if err := get(t, waits[i]); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			ok(t, holds[i].Release(short(t)))
		}
	})
}

// Do with a lock that can be asked back: the work's context ends.
func TestRevocable(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p := short(t), lockPath(t)
		s, other := z.dial(t), z.dial(t)
		rw := zksync.NewRWMutex(s, p, zksync.WithRevocable())
		for name, l := range map[string]zksync.Locker{"write": rw, "read": rw.RLocker(), "mutex": zksync.NewMutex(s, p, zksync.WithRevocable())} {
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
			if err != zksync.ErrRevoked {
				t.Errorf("%s: %v", name, err)
			}
		}
		z.empty(t, p)
	})
}

// With a second node, which kazoo sees.
func TestKazooQueue(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t), z.dial(t)
		m := zksync.NewMutex(s, p, zksync.WithKazooQueue())
		m.Lock()
		q, err := s.Inspect(ctx, p)
		ok(t, err)
		if len(q.Nodes) != 2 || q.Nodes[0].Sequence+1 != q.Nodes[1].Sequence || q.Nodes[1].Name[32:40] != "__lock__" {
			t.Fatalf("%+v", q)
		}
		if err := zksync.NewMutex(s, p).LockContext(ctx); err == nil {
			t.Error("two values of one path differ in what shows")
		}
		next := async(func() error { return zksync.NewMutex(other, p, zksync.WithKazooQueue()).LockContext(ctx) })
		lineOf(t, raw, p, 4)
		local := async(func() error { return m.LockContext(ctx) })
		waiting(t, s, 1)
		m.Unlock() // to the goroutine next door
		ok(t, get(t, local))
		lineOf(t, raw, p, 4)
		m.Unlock()
		ok(t, get(t, next))
		lineOf(t, raw, p, 2)
		theirs := plant(t, raw, p+"/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__", "py", zk.FlagEphemeral|zk.FlagSequence)
		again := async(func() error { return m.LockContext(ctx) })
		lineOf(t, raw, p, 5)
		zksync.NewMutex(other, p, zksync.WithKazooQueue()).Unlock()
		lineOf(t, raw, p, 3)
		notYet(t, again)
		ok(t, raw.Delete(theirs, -1))
		ok(t, get(t, again))
		m.Unlock()
		z.empty(t, p)
	})
}
