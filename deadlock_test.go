package zksync_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
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
	waits  map[string]<-chan grant
	cancel func()
}

func tie(t *testing.T, root string, dial func() *zksync.Session) *knot {
	k := &knot{t: t, root: root, dial: dial, owners: make(map[string]zksync.Owner), sess: make(map[string]*zksync.Session),
		held: make(map[string]*zksync.Hold), waits: make(map[string]<-chan grant)}
	k.ctx, k.cancel = context.WithCancel(short(t))
	t.Cleanup(k.untie)
	return k
}

// untie ends all waits, and gives everything back.
func (k *knot) untie() {
	k.cancel()
	for _, c := range k.waits {
		if g := get(k.t, c); g.err == nil {
			_ = g.hold.Release(short(k.t))
		}
	}
	for _, h := range k.held {
		_ = h.Release(short(k.t)) // some have been broken
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
	ok(k.t, err)
	k.held[owner+" "+lock] = h
}

// reads gives an owner a lock to read.
func (k *knot) reads(owner, lock string) {
	k.t.Helper()
	ctx, s := k.as(owner)
	h, err := zksync.NewRWMutex(s, k.root+"/"+lock).RLocker().Hold(ctx)
	ok(k.t, err)
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
	before := children(k.t, s.Conn(), p)
	k.waits[owner+" "+lock] = async(func() grant {
		h, err := hold()
		return grant{hold: h, err: err}
	})
	eventually(k.t, owner+" stands in line", func() bool {
		for _, name := range children(k.t, s.Conn(), p) {
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
		var n, b *zksync.Node
		for _, q := range tree.Queues {
			for j := range q.Nodes {
				switch at := &q.Nodes[j]; {
				case q.Path == w.Path && at.Name == w.Node && b != nil:
					n = at
				case q.Path == w.Path && at.Name == w.ForNode:
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

// A cycle is certain if it looks the same a second later. Nothing that happens
// to its nodes in between lets it seem so.
func TestDeadlockIsCertainAfterASecondLook(t *testing.T) {
	const second = time.Second
	foreign := []byte(`{"v":1,"owner":{"id":"x","name":"x"}}`)
	for _, tt := range []struct {
		name    string
		between func(k *knot, s *zksync.Session, node string) // after half a second
		cycles  int
		certain bool
	}{
		{"nothing happens", nil, 1, true},
		{"a waiter loses its place", func(k *knot, s *zksync.Session, node string) { ok(k.t, s.Break(k.ctx, node)) }, 0, false},
		{"a holder goes", func(k *knot, s *zksync.Session, _ string) { ok(k.t, k.held["o1 l1"].Release(k.ctx)) }, 0, false},
		{"another owner has the node", func(k *knot, s *zksync.Session, node string) {
			_, err := s.Conn().Set(node, foreign, 0)
			ok(k.t, err)
		}, 0, false},
		{"nobody is known to have the node", func(k *knot, s *zksync.Session, _ string) {
			_, err := s.Conn().Set(k.held["o1 l1"].Node(), []byte(`{"v":1}`), 0)
			ok(k.t, err)
		}, 0, false},
		{"another owner had the node meanwhile", func(k *knot, s *zksync.Session, node string) {
			data, stat, err := s.Conn().Get(node)
			ok(k.t, err)
			for _, data := range [][]byte{foreign, data} {
				stat, err = s.Conn().Set(node, data, stat.Version)
				ok(k.t, err)
			}
		}, 1, false},
		{"a node is asked back", func(k *knot, s *zksync.Session, node string) { ok(k.t, s.Revoke(k.ctx, node)) }, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				s := via(t, srv.Dial)
				k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
				nodes := k.ring(3)
				start := time.Now()
				looks := async(func() zksync.Tree {
					tree, err := s.InspectTree(short(t), "/r")
					if err != nil {
						t.Error(err)
					}
					return tree
				})
				time.Sleep(second / 2)
				if tt.between != nil {
					tt.between(k, via(t, srv.Dial), nodes[1])
				}
				tree := get(t, looks)
				if took := time.Since(start); took < second || took > second+second/2 {
					t.Errorf("it took %v", took)
				}
				if tt.cycles == 1 {
					wantsCycle(t, tree, tt.certain, "o0", "o1", "o2")
				} else if len(tree.Cycles) != 0 {
					t.Errorf("cycles: %+v", tree.Cycles)
				}
			})
		})
	}
}

// Where time runs out before the second look, what the first one showed is told
// all the same. Without a cycle there is no second look.
func TestDeadlockIsToldWithoutASecondLook(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
		k.has("o", "free")
		start := time.Now()
		tree, err := s.InspectTree(short(t), "/r")
		ok(t, err)
		if len(tree.Cycles) != 0 || len(tree.Queues) != 1 || time.Since(start) != 0 {
			t.Errorf("%+v after %v", tree, time.Since(start))
		}
		k.ring(2)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		start = time.Now()
		tree, err = s.InspectTree(ctx, "/r")
		ok(t, err)
		wantsCycle(t, tree, false, "o0", "o1")
		if took := time.Since(start); took != time.Second/2 {
			t.Errorf("it took %v", took)
		}
		if _, err := s.InspectTree(done(), "/r"); err == nil {
			t.Error("a done context inspects")
		}
	})
}

// A server that has fallen behind shows nodes that are gone: it is brought up to
// date before the second look.
func TestDeadlockIsNotOfThePast(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		behind := srv.Door()
		s := via(t, behind.Dial)
		k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
		nodes := k.ring(2)
		behind.LagUntilSync(true)
		ok(t, k.sess["o0"].Break(k.ctx, nodes[0]))
		tree, err := s.InspectTree(short(t), "/r")
		ok(t, err)
		if len(tree.Cycles) != 0 {
			t.Errorf("cycles: %+v", tree.Cycles)
		}
	})
}

// A node that has been made anew under its old name, as may happen to names
// without a GUID, is another one.
func TestDeadlockIsNotOfNodesMadeAnew(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s, other := via(t, srv.Dial), via(t, srv.Dial)
		free(t, zksync.NewMutex(s, "/r/l")) // makes the path
		free(t, zksync.NewMutex(s, "/r/m"))
		says := func(owner string) string { return fmt.Sprintf(`{"v":1,"owner":{"id":%q,"name":%[1]q}}`, owner) }
		put := func(node, owner string) { plant(t, other.Conn(), node, says(owner), zk.FlagEphemeral) }
		put("/r/l/lock-0000000000", "a")
		put("/r/l/lock-0000000001", "b")
		put("/r/m/lock-0000000000", "b")
		put("/r/m/lock-0000000001", "a")
		look := func() zksync.Tree {
			tree, err := s.InspectTree(short(t), "/r")
			ok(t, err)
			return tree
		}
		wantsCycle(t, look(), true, "a", "b")
		time.AfterFunc(time.Second/2, func() {
			_, err := other.Conn().Multi(&zk.DeleteRequest{Path: "/r/l/lock-0000000001", Version: -1},
				&zk.CreateRequest{Path: "/r/l/lock-0000000001", Data: []byte(says("b")), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
			if err != nil {
				t.Error(err)
			}
		})
		if tree := look(); len(tree.Cycles) != 0 {
			t.Errorf("cycles: %+v", tree.Cycles)
		}
	})
}

// When one cycle has dissolved by the second look, another one among the same
// owners is told.
func TestDeadlockBesideOneThatDissolved(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
		k.has("a", "x")
		k.has("b", "y")
		k.has("c", "z")
		at := map[string]string{"b": k.wants("a", "y"), "c": k.wants("a", "z")}
		k.wants("b", "x")
		k.wants("c", "x")
		tree, err := s.InspectTree(short(t), "/r")
		ok(t, err)
		if len(tree.Cycles) != 1 || !tree.Cycles[0].Certain {
			t.Fatalf("cycles: %+v", tree.Cycles)
		}
		one := names(t, tree, tree.Cycles[0])[1]
		other := map[string]string{"b": "c", "c": "b"}[one]
		looks := async(func() zksync.Tree {
			tree, err := s.InspectTree(short(t), "/r")
			if err != nil {
				t.Error(err)
			}
			return tree
		})
		time.Sleep(time.Second / 2)
		ok(t, s.Break(k.ctx, at[one]))
		wantsCycle(t, get(t, looks), false, "a", other)
	})
}

// A cycle through permits is never certain, since anybody may give some back.
// One among locks is told first.
func TestDeadlockThroughPermitsIsNeverCertain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
		ctx, a := k.as("a")
		h, err := zksync.NewSemaphore(a, "/r/permits", 2).Hold(ctx, 2)
		ok(t, err)
		k.held["a permits"] = h
		k.has("b", "lock")
		ctx, b := k.as("b")
		next := k.stands("b", "permits", b, func() (*zksync.Hold, error) { return zksync.NewSemaphore(b, "/r/permits", 2).Hold(ctx, 1) })
		k.wants("a", "lock")
		// A semaphore of this library ignores owners, and names none.
		line, err := s.Inspect(k.ctx, "/r/lock")
		ok(t, err)
		for i, node := range []string{next, h.Node()} {
			n := line.Nodes[i]
			_, err = s.Conn().Set(node, fmt.Appendf(nil, `{"v":1,"owner":{"id":%q,"name":%q}}`, n.OwnerID, n.OwnerName), -1)
			ok(t, err)
		}
		start := time.Now()
		tree, err := s.InspectTree(short(t), "/r")
		ok(t, err)
		wantsCycle(t, tree, false, "a", "b")
		if took := time.Since(start); took != 0 {
			t.Errorf("a second look after %v", took)
		}
		k.has("c", "third")
		k.wants("c", "lock")
		k.wants("b", "third")
		tree, err = s.InspectTree(short(t), "/r")
		ok(t, err)
		wantsCycle(t, tree, true, "b", "c")
	})
}

// A writer waits for both readers; the one that it does not watch is in the
// cycle.
func TestDeadlockThroughTheFartherReader(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		k := tie(t, lockPath(t), func() *zksync.Session { return z.dial(t) })
		k.reads("far", "shared")
		k.reads("near", "shared")
		k.has("writer", "own")
		ctx, w := k.as("writer")
		k.stands("writer", "shared", w, func() (*zksync.Hold, error) { return zksync.NewRWMutex(w, k.root+"/shared").Hold(ctx) })
		k.wants("far", "own")
		tree, err := s.InspectTree(short(t), k.root)
		ok(t, err)
		wantsCycle(t, tree, true, "far", "writer")
		var waits []string
		for _, w := range tree.Waits {
			waits = append(waits, w.OwnerName+" for "+w.ForName)
		}
		if !slices.Equal(waits, []string{"far for writer", "writer for near"}) {
			t.Errorf("waits: %v", waits)
		}
	})
}

// Who is not known is tied to nobody: not to another one who is not known, either.
func TestNobodyIsTiedToANodeWithoutAnOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
		k.ring(3)
		// As if o0 had been one that is not known: it holds l0, and wants l1.
		for _, q := range []string{"/r/l0", "/r/l1"} {
			line, err := s.Inspect(k.ctx, q)
			ok(t, err)
			for _, n := range line.Nodes {
				if n.OwnerName == "o0" {
					_, err := s.Conn().Set(n.Path, []byte(`{"v":1,"owner":{"name":"o0"}}`), -1)
					ok(t, err)
				}
			}
		}
		tree, err := s.InspectTree(short(t), "/r")
		ok(t, err)
		if len(tree.Cycles) != 0 || len(tree.Waits) != 1 || tree.Waits[0].OwnerName != "o1" || tree.Waits[0].ForName != "o2" {
			t.Errorf("%+v, %+v", tree.Cycles, tree.Waits)
		}
	})
}

// The second node of a lock that kazoo sees, and that of a writer who reads now,
// are behind one of their own owner's, and no deadlock.
func TestSecondNodesAreNoDeadlock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		root, ctx := lockPath(t), zksync.WithOwner(short(t), zksync.NewOwner("o"))
		s := z.dial(t)
		h, err := zksync.NewMutex(s, root+"/kazoo", zksync.WithKazooQueue()).Hold(ctx)
		ok(t, err)
		rw := zksync.NewRWMutex(s, root+"/rw")
		ok(t, rw.LockContext(ctx))
		ok(t, rw.RLockContext(ctx))
		lineOf(t, z.raw(t), root+"/rw", 2)
		tree, err := s.InspectTree(short(t), root)
		ok(t, err)
		if len(tree.Queues) != 2 || len(tree.Waits)+len(tree.Cycles) != 0 {
			t.Errorf("%+v, %+v", tree.Cycles, tree.Waits)
		}
		ok(t, rw.RUnlockContext(ctx))
		ok(t, rw.UnlockContext(ctx))
		ok(t, h.Release(short(t)))
	})
}

// An owner who waits, in one session, for what it holds in another one does so
// for ever.
func TestDeadlockOfOneOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return via(t, srv.Dial) })
		k.has("o", "l")
		k.sess["o"] = via(t, srv.Dial)
		k.wants("o", "l")
		tree, err := s.InspectTree(short(t), "/r")
		ok(t, err)
		wantsCycle(t, tree, true, "o")
	})
}

// What a second look costs: a sync, and a read of each node of the cycle.
func TestRequestsOfASecondLook(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		k := tie(t, lockPath(t), func() *zksync.Session { return z.dial(t) })
		for i := range 5 {
			k.has("bystander", fmt.Sprint("x", i))
		}
		k.ring(2)
		s := z.counted(t)
		tree, err := s.InspectTree(short(t), k.root)
		ok(t, err)
		wantsCycle(t, tree, true, "o0", "o1")
		s.wants(t, "InspectTree", ops{"getChildren2": 1 + 7, "getData": 5 + 4 + 4, "sync": 1})
	})
}
