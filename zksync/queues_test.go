package zksync_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Queues passes each queue below a path that has a lock node, the upper one first, and
// each as Inspect shows it.
func TestQueues(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, root := suite.Context(t), z.Dial(t), z.Path(t)
		want := []string{root, root + "/a", root + "/a/below", root + "/a/more", root + "/b/x", root + "/b-c"}
		for _, p := range slices.Backward(want) {
			suite.Must(t, zksync.NewRWMutex(s, p).RLockContext(ctx))
		}
		suite.LockAndUnlock(t, zksync.NewMutex(s, root+"/free"))
		second := suite.Async(func() error { return zksync.NewMutex(z.Dial(t), want[1]).LockContext(ctx) })
		suite.InLine(t, z.Raw(t), want[1], 4) // two children are locks

		all := s.Queues(ctx, root)
		for range 2 { // each use looks anew
			var got []string
			for q, err := range all {
				suite.Must(t, err)
				got = append(got, q.Path)
				whole, err := s.Inspect(ctx, q.Path)
				suite.Must(t, err)
				slices.Sort(whole.Other)
				slices.Sort(q.Other)
				if !reflect.DeepEqual(q, whole) {
					t.Errorf("%+v, Inspect says %+v", q, whole)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		tree, err := s.InspectTree(ctx, root)
		suite.Must(t, err)
		if len(tree.Queues) != len(want) {
			t.Errorf("InspectTree: %d queues", len(tree.Queues))
		}
		for q, err := range s.Queues(ctx, root+"/none") {
			t.Errorf("of a path that does not exist: %v, %v", q, err)
		}
		for _, p := range want {
			suite.Must(t, zksync.NewRWMutex(s, p).RUnlockContext(ctx))
		}
		suite.Must(t, suite.Receive(t, second))
	}, suite.Smoke)
}

// A loop that ends early, and one that has not begun, ask for nothing more.
func TestQueuesStops(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, holder, s, root := suite.Context(t), z.Dial(t), z.Counted(t), z.Path(t)
		for i := range 10 {
			zksync.NewMutex(holder, fmt.Sprint(root, "/", i)).Lock()
		}
		s.Take(t)
		all := s.Queues(ctx, root)
		s.Wants(t, "before the loop", suite.Ops{})
		for q, err := range all {
			suite.Must(t, err)
			if q.Path != root+"/0" {
				t.Errorf("first %s", q.Path)
			}
			break
		}
		s.Wants(t, "one queue", suite.Ops{"getChildren2": 2, "getData": 1})
		n := 0
		for _, err := range all {
			suite.Must(t, err)
			n++
		}
		if n != 10 {
			t.Errorf("%d queues", n)
		}
	})
}

// A request that fails ends the loop, with one error.
func TestQueuesFails(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, root, c := z.Dial(t), z.Path(t), z.Raw(t)
		zksync.NewMutex(s, root+"/a").Lock()
		suite.MakePath(t, c, root+"/b")
		_, err := c.SetACL(root+"/b", zk.DigestACL(zk.PermAll, "user", "secret"), -1)
		suite.Must(t, err)
		zksync.NewMutex(s, root+"/c").Lock()

		ctx, cancel := context.WithCancelCause(suite.Context(t))
		for name, tt := range map[string]struct {
			root   string
			before int
			want   []error
			during func()
		}{
			"refused": {root, 1, []error{zksync.ErrNoAuth}, func() {}},
			"path":    {"a", 0, []error{zksync.ErrInvalidPath}, func() {}},
			"ended":   {root, 1, []error{context.Canceled, suite.ErrCause}, func() { cancel(suite.ErrCause) }},
		} {
			ctx := ctx
			if name != "ended" {
				ctx = suite.Context(t)
			}
			queues, failures := 0, 0
			for q, err := range s.Queues(ctx, tt.root) {
				if err == nil && failures == 0 {
					queues++
					tt.during()
					continue
				}
				failures++
				if e := suite.IsError(t, err, tt.want...); e.Op != "inspect" || e.Path != tt.root || !reflect.DeepEqual(q, zksync.Queue{}) {
					t.Errorf("%s: %v, %+v", name, e, q)
				}
			}
			if queues != tt.before || failures != 1 {
				t.Errorf("%s: %d queues, %d errors", name, queues, failures)
			}
		}
		suite.Must(t, s.Close())
		for _, err := range s.Queues(suite.Context(t), root) {
			suite.IsError(t, err, zksync.ErrClosed)
		}
	})
}
