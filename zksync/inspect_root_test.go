package zksync_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A program can ask for all of its own locks: at the root of its chroot, and at the root
// itself.
func TestInspectTreeAtTheRoot(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root := suite.Context(t), z.Path(t)
		below := z.Dial(t, zksync.WithChroot(root))
		if tree, err := below.InspectTree(ctx, "/"); err != nil || len(tree.Queues) != 0 {
			t.Errorf("nothing yet: %+v, %v", tree, err)
		}
		for _, p := range []string{"/a", "/b/c"} {
			zksync.NewMutex(below, p).Lock()
		}
		tree, err := below.InspectTree(ctx, "/")
		suite.Must(t, err)
		if tree.Root != "/" || len(tree.Queues) != 2 || tree.Queues[0].Path != "/a" || tree.Queues[1].Path != "/b/c" {
			t.Errorf("below the chroot: %+v", tree)
		}
		if q, err := below.Inspect(ctx, tree.Queues[1].Path); err != nil || len(q.Nodes) != 1 {
			t.Errorf("%+v, %v", q, err)
		}
		if z.Server == nil {
			return // other tests have paths there that nobody else may list
		}
		var paths []string
		for q, err := range z.Dial(t).Queues(ctx, "/") {
			suite.Must(t, err)
			paths = append(paths, q.Path)
		}
		if !slices.Equal(paths, []string{root + "/a", root + "/b/c"}) {
			t.Errorf("at the root: %q", paths)
		}
		if n := z.Server.Requests()["getChildren2"]; n > 30 {
			t.Errorf("%d lists", n)
		}
	}, suite.Smoke)
}

// Of a node that the session may not read, Inspect shows what the name says, and all of the
// others.
func TestInspectBesideAnUnreadableNode(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, admin := suite.Context(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, admin, p)
		h, err := zksync.NewMutex(z.Dial(t, digest("a")), p, zksync.WithACL(may("a", zk.PermAll)...)).Hold(ctx)
		suite.Must(t, err)
		node := suite.Plant(t, admin, p+"/_c_00000000-0000-0000-0000-000000000000-lock-", "", zk.FlagEphemeral|zk.FlagSequence)
		s := z.Dial(t)
		q, err := s.Inspect(ctx, p)
		suite.Must(t, err)
		if len(q.Nodes) != 2 || q.Nodes[1].Node != node || q.Nodes[1].BlockedBy != h.Node() || q.Nodes[1].Since.IsZero() {
			t.Fatalf("%+v", q)
		}
		first := q.Nodes[0]
		if first.Node != h.Node() || first.Mode != zksync.ModeMutex || first.Form != zksync.FormZKSync || !first.Held || first.Identity != "" {
			t.Errorf("%+v", first)
		}
		if z.Server != nil && (!first.Since.IsZero() || first.Session != 0) { // as from ZooKeeper 3.8.4 on
			t.Errorf("%+v", first)
		}
		if tree, err := s.InspectTree(ctx, path.Dir(p)); z.Server != nil && (err != nil || len(tree.Queues) != 1 || len(tree.Queues[0].Nodes) != 2) {
			t.Errorf("%+v, %v", tree, err)
		}
		if !strings.HasPrefix(first.Node, p) {
			t.Error(first.Node)
		}
		suite.Must(t, admin.Delete(node, -1))
		suite.Must(t, h.Release(ctx))
	}, suite.Smoke)
}
