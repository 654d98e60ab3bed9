package zksync_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

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
		{"a waiter loses its place", func(k *knot, s *zksync.Session, node string) { suite.Must(k.t, s.Break(k.ctx, node)) }, 0, false},
		{"a holder goes", func(k *knot, s *zksync.Session, _ string) { suite.Must(k.t, k.held["o1 l1"].Release(k.ctx)) }, 0, false},
		{"another owner has the node", func(k *knot, s *zksync.Session, node string) {
			_, err := s.Conn().Set(node, foreign, 0)
			suite.Must(k.t, err)
		}, 0, false},
		{"nobody is known to have the node", func(k *knot, s *zksync.Session, _ string) {
			_, err := s.Conn().Set(k.held["o1 l1"].Node(), []byte(`{"v":1}`), 0)
			suite.Must(k.t, err)
		}, 0, false},
		{"another owner had the node meanwhile", func(k *knot, s *zksync.Session, node string) {
			data, stat, err := s.Conn().Get(node)
			suite.Must(k.t, err)
			for _, data := range [][]byte{foreign, data} {
				stat, err = s.Conn().Set(node, data, stat.Version)
				suite.Must(k.t, err)
			}
		}, 1, false},
		{"a node is asked back", func(k *knot, s *zksync.Session, node string) { suite.Must(k.t, s.Revoke(k.ctx, node)) }, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				s := z.Via(t, srv.Dial)
				k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
				nodes := k.ring(3)
				start := time.Now()
				looks := suite.Async(func() zksync.Tree {
					tree, err := s.InspectTree(suite.Context(t), "/r")
					if err != nil {
						t.Error(err)
					}
					return tree
				})
				time.Sleep(second / 2)
				if tt.between != nil {
					tt.between(k, z.Via(t, srv.Dial), nodes[1])
				}
				tree := suite.Receive(t, looks)
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

// If the context ends before the second look, the result of the first one is still
// returned. Without a cycle there is no second look.
func TestDeadlockIsToldWithoutASecondLook(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
		k.has("o", "free")
		start := time.Now()
		tree, err := s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		if len(tree.Cycles) != 0 || len(tree.Queues) != 1 || time.Since(start) != 0 {
			t.Errorf("%+v after %v", tree, time.Since(start))
		}
		k.ring(2)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		start = time.Now()
		tree, err = s.InspectTree(ctx, "/r")
		suite.Must(t, err)
		wantsCycle(t, tree, false, "o0", "o1")
		if took := time.Since(start); took != time.Second/2 {
			t.Errorf("it took %v", took)
		}
		if _, err := s.InspectTree(suite.DoneContext(), "/r"); err == nil {
			t.Error("a done context inspects")
		}
	})
}

// A server that has fallen behind shows nodes that are gone: it is brought up to
// date before the second look.
func TestDeadlockIsNotOfThePast(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		behind := srv.AddMember()
		s := z.Via(t, behind.Dial)
		k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
		nodes := k.ring(2)
		behind.LagUntilSync()
		suite.Must(t, k.sess["o0"].Break(k.ctx, nodes[0]))
		tree, err := s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		if len(tree.Cycles) != 0 {
			t.Errorf("cycles: %+v", tree.Cycles)
		}
	})
}

// A node that has been made anew under its old name, as may happen to names
// without a GUID, is another one.
func TestDeadlockIsNotOfNodesMadeAnew(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		suite.LockAndUnlock(t, zksync.NewMutex(s, "/r/l")) // makes the path
		suite.LockAndUnlock(t, zksync.NewMutex(s, "/r/m"))
		says := func(owner string) string { return fmt.Sprintf(`{"v":1,"owner":{"id":%q,"name":%[1]q}}`, owner) }
		put := func(node, owner string) { suite.Plant(t, other.Conn(), node, says(owner), zk.FlagEphemeral) }
		put("/r/l/lock-0000000000", "a")
		put("/r/l/lock-0000000001", "b")
		put("/r/m/lock-0000000000", "b")
		put("/r/m/lock-0000000001", "a")
		look := func() zksync.Tree {
			tree, err := s.InspectTree(suite.Context(t), "/r")
			suite.Must(t, err)
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
// owners is still returned.
func TestDeadlockBesideOneThatDissolved(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		k := tie(t, "/r", func() *zksync.Session { return z.Via(t, srv.Dial) })
		k.has("a", "x")
		k.has("b", "y")
		k.has("c", "z")
		at := map[string]string{"b": k.wants("a", "y"), "c": k.wants("a", "z")}
		k.wants("b", "x")
		k.wants("c", "x")
		tree, err := s.InspectTree(suite.Context(t), "/r")
		suite.Must(t, err)
		if len(tree.Cycles) != 1 || !tree.Cycles[0].Certain {
			t.Fatalf("cycles: %+v", tree.Cycles)
		}
		one := names(t, tree, tree.Cycles[0])[1]
		other := map[string]string{"b": "c", "c": "b"}[one]
		looks := suite.Async(func() zksync.Tree {
			tree, err := s.InspectTree(suite.Context(t), "/r")
			if err != nil {
				t.Error(err)
			}
			return tree
		})
		time.Sleep(time.Second / 2)
		suite.Must(t, s.Break(k.ctx, at[one]))
		wantsCycle(t, suite.Receive(t, looks), false, "a", other)
	})
}
