package zksync_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// knot is owners in sessions of their own, who hold locks and wait for others.
type knot struct {
	t      *testing.T
	ctx    context.Context
	root   string
	dial   func() *zksync.Session
	owners map[string]zksync.Owner
	sess   map[string]*zksync.Session
	held   map[string]*zksync.Hold // by owner and lock
	waits  map[string]<-chan suite.Grant
	cancel func()
}

func tie(t *testing.T, root string, dial func() *zksync.Session) *knot {
	k := &knot{t: t, root: root, dial: dial, owners: make(map[string]zksync.Owner), sess: make(map[string]*zksync.Session),
		held: make(map[string]*zksync.Hold), waits: make(map[string]<-chan suite.Grant)}
	k.ctx, k.cancel = context.WithCancel(suite.Context(t))
	t.Cleanup(k.untie)
	return k
}

// untie ends all waits, and gives everything back.
func (k *knot) untie() {
	k.cancel()
	for _, c := range k.waits {
		if g := suite.Receive(k.t, c); g.Err == nil {
			_ = g.Hold.Release(suite.Context(k.t))
		}
	}
	for _, h := range k.held {
		_ = h.Release(suite.Context(k.t)) // some have been broken
	}
}

func (k *knot) as(owner string) (context.Context, *zksync.Session) {
	if k.sess[owner] == nil {
		k.sess[owner] = k.dial()
		k.owners[owner] = zksync.NewOwner(owner)
	}
	return zksync.WithOwner(k.ctx, k.owners[owner]), k.sess[owner]
}

// has gives an owner a lock.
func (k *knot) has(owner, lock string) {
	k.t.Helper()
	ctx, s := k.as(owner)
	h, err := zksync.NewMutex(s, k.root+"/"+lock).Hold(ctx)
	suite.Must(k.t, err)
	k.held[owner+" "+lock] = h
}

// reads gives an owner a lock to read.
func (k *knot) reads(owner, lock string) {
	k.t.Helper()
	ctx, s := k.as(owner)
	h, err := zksync.NewRWMutex(s, k.root+"/"+lock).RLocker().Hold(ctx)
	suite.Must(k.t, err)
	k.held[owner+" "+lock] = h
}

// wants has an owner stand in line, and returns its node.
func (k *knot) wants(owner, lock string) (node string) {
	k.t.Helper()
	ctx, s := k.as(owner)
	return k.stands(owner, lock, s, func() (*zksync.Hold, error) {
		return zksync.NewMutex(s, k.root+"/"+lock).Hold(ctx)
	})
}

func (k *knot) stands(owner, lock string, s *zksync.Session, hold func() (*zksync.Hold, error)) (node string) {
	k.t.Helper()
	p := k.root + "/" + lock
	before := suite.Children(k.t, s.Conn(), p)
	k.waits[owner+" "+lock] = suite.Async(func() suite.Grant {
		h, err := hold()
		return suite.Grant{Hold: h, Err: err}
	})
	suite.Eventually(k.t, owner+" stands in line", func() bool {
		for _, name := range suite.Children(k.t, s.Conn(), p) {
			if !slices.Contains(before, name) {
				node = p + "/" + name
			}
		}
		return node != ""
	})
	return node
}

// names are the owners of a cycle, in order from the first by name on. It is
// checked to be one: each waits for the next one's node, and that one blocks it.
func names(t *testing.T, tree zksync.Tree, c zksync.Cycle) (owners []string) {
	t.Helper()
	for i, w := range c.Waits {
		next := c.Waits[(i+1)%len(c.Waits)]
		owners = append(owners, w.OwnerName)
		var n, b *zksync.LockNode
		for _, q := range tree.Queues {
			for j := range q.Nodes {
				switch at := &q.Nodes[j]; {
				case q.Path == w.Path && at.Node == w.Node && b != nil:
					n = at
				case q.Path == w.Path && at.Node == w.ForNode:
					b = at
				}
			}
		}
		if w.For != next.Owner || n == nil || n.Held || n.OwnerID != w.Owner || b.OwnerID != w.For || n.Mode == zksync.ModeRead && b.Mode == zksync.ModeRead {
			t.Errorf("wait %d of %+v", i, c)
		}
	}
	i := slices.Index(owners, slices.Min(owners))
	return slices.Concat(owners[i:], owners[:i])
}

// wantsCycle checks that the tree has one cycle, of these owners.
func wantsCycle(t *testing.T, tree zksync.Tree, certain bool, owners ...string) {
	t.Helper()
	if len(tree.Cycles) != 1 {
		t.Fatalf("cycles: %+v", tree.Cycles)
	}
	c := tree.Cycles[0]
	if got := names(t, tree, c); !slices.Equal(got, owners) || c.Certain != certain {
		t.Errorf("%v, certain: %v; want %v, %v", got, c.Certain, owners, certain)
	}
}

// ring has each of n owners hold a lock and wait for that of the next one. It
// returns the nodes that wait.
func (k *knot) ring(n int) (nodes []string) {
	for i := range n {
		k.has(fmt.Sprint("o", i), fmt.Sprint("l", i))
	}
	for i := range n {
		nodes = append(nodes, k.wants(fmt.Sprint("o", i), fmt.Sprint("l", (i+1)%n)))
	}
	return nodes
}

// A cycle through permits is never certain, since anybody may give some back.
// A cycle among locks is listed first.
func TestDeadlockThroughPermitsIsNeverCertain(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
		ctx, a := k.as("a")
		h, err := zksync.NewSemaphore(a, "/r/permits", 2).Hold(ctx, 2)
		suite.Must(t, err)
		k.held["a permits"] = h
		k.has("b", "lock")
		ctx, b := k.as("b")
		next := k.stands("b", "permits", b, func() (*zksync.Hold, error) { return zksync.NewSemaphore(b, "/r/permits", 2).Hold(ctx, 1) })
		k.wants("a", "lock")
		// A semaphore of this library ignores owners, and names none.
		line, err := s.Inspect(k.ctx, "/r/lock")
		suite.Must(t, err)
		for i, node := range []string{next, h.Node()} {
			n := line.Nodes[i]
			_, err = s.Conn().Set(node, fmt.Appendf(nil, `{"v":1,"owner":{"id":%q,"name":%q}}`, n.OwnerID, n.OwnerName), -1)
			suite.Must(t, err)
		}
		start := time.Now()
		tree, err := s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		wantsCycle(t, tree, false, "a", "b")
		if took := time.Since(start); took != 0 {
			t.Errorf("a second look after %v", took)
		}
		k.has("c", "third")
		k.wants("c", "lock")
		k.wants("b", "third")
		tree, err = s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		wantsCycle(t, tree, true, "b", "c")
	})
}

// A writer waits for both readers; the one that it does not watch is in the
// cycle.
func TestDeadlockThroughTheFartherReader(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		k := tie(t, z.Path(t), func() *zksync.Session { return z.Dial(t) })
		k.reads("far", "shared")
		k.reads("near", "shared")
		k.has("writer", "own")
		ctx, w := k.as("writer")
		k.stands("writer", "shared", w, func() (*zksync.Hold, error) { return zksync.NewRWMutex(w, k.root+"/shared").Hold(ctx) })
		k.wants("far", "own")
		tree, err := s.InspectTree(suite.Context(t), k.root)
		suite.Must(t, err)
		wantsCycle(t, tree, true, "far", "writer")
		var waits []string
		for _, w := range tree.Waits {
			waits = append(waits, w.OwnerName+" for "+w.ForName)
		}
		if !slices.Equal(waits, []string{"far for writer", "writer for near"}) {
			t.Errorf("waits: %v", waits)
		}
	}, suite.Timeless)
}

// A node without an owner joins no cycle, not even with another node without an owner.
func TestNobodyIsTiedToANodeWithoutAnOwner(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
		k.ring(3)
		// As if o0 had been one that is not known: it holds l0, and wants l1.
		for _, q := range []string{"/r/l0", "/r/l1"} {
			line, err := s.Inspect(k.ctx, q)
			suite.Must(t, err)
			for _, n := range line.Nodes {
				if n.OwnerName == "o0" {
					_, err := s.Conn().Set(n.Node, []byte(`{"v":1,"owner":{"name":"o0"}}`), -1)
					suite.Must(t, err)
				}
			}
		}
		tree, err := s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		if len(tree.Cycles) != 0 || len(tree.Waits) != 1 || tree.Waits[0].OwnerName != "o1" || tree.Waits[0].ForName != "o2" {
			t.Errorf("%+v, %+v", tree.Cycles, tree.Waits)
		}
	})
}

// The second node of a lock that kazoo sees, and that of a writer who reads now,
// are behind one of their own owner's, and no deadlock.
func TestSecondNodesAreNoDeadlock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		root, ctx := z.Path(t), zksync.WithOwner(suite.Context(t), zksync.NewOwner("o"))
		s := z.Dial(t)
		h, err := zksync.NewMutex(s, root+"/kazoo", zksync.WithKazooName()).Hold(ctx)
		suite.Must(t, err)
		rw := zksync.NewRWMutex(s, root+"/rw")
		suite.Must(t, rw.LockContext(ctx))
		suite.Must(t, rw.RLockContext(ctx))
		suite.InLine(t, z.Raw(t), root+"/rw", 2)
		tree, err := s.InspectTree(suite.Context(t), root)
		suite.Must(t, err)
		if len(tree.Queues) != 2 || len(tree.Waits)+len(tree.Cycles) != 0 {
			t.Errorf("%+v, %+v", tree.Cycles, tree.Waits)
		}
		suite.Must(t, rw.RUnlockContext(ctx))
		suite.Must(t, rw.UnlockContext(ctx))
		suite.Must(t, h.Release(suite.Context(t)))
	})
}

// An owner who waits, in one session, for what it holds in another one does so
// for ever.
func TestDeadlockOfOneOwner(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
		k.has("o", "l")
		k.sess["o"] = z.Via(t, srv.Dial)
		k.wants("o", "l")
		tree, err := s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		wantsCycle(t, tree, true, "o")
	})
}

// A second look costs a sync and a read of each node of the cycle.
func TestRequestsOfASecondLook(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		k := tie(t, z.Path(t), func() *zksync.Session { return z.Dial(t) })
		for i := range 5 {
			k.has("bystander", fmt.Sprint("x", i))
		}
		k.ring(2)
		s := z.Counted(t)
		tree, err := s.InspectTree(suite.Context(t), k.root)
		suite.Must(t, err)
		wantsCycle(t, tree, true, "o0", "o1")
		s.Wants(t, "InspectTree", suite.Ops{"getChildren2": 1 + 7, "getData": 5 + 4 + 4, "sync": 1})
	})
}
