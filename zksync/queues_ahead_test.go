package zksync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A loop over all queues does not wait for the answer about one before it asks about the
// next, however far the servers are.
func TestQueuesFarAway(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		const locks = 160
		holder := z.Dial(t)
		for i := range locks {
			zksync.NewMutex(holder, fmt.Sprintf("/far/%d/deep/%03d", i%4, i)).Lock()
		}
		for i := range 40 { // nobody holds these
			suite.LockAndUnlock(t, zksync.NewMutex(holder, fmt.Sprintf("/far/0/%03d", i)))
		}
		s := far(t, z)
		start := time.Now()
		n := 0
		for _, err := range s.Queues(t.Context(), "/far") {
			suite.Must(t, err)
			n++
		}
		took := time.Since(start)
		t.Logf("%d queues in %v", n, took)
		// One after the other they would take two round trips of 10 ms each.
		if n != locks || took > locks*20*time.Millisecond/4 {
			t.Errorf("%d queues in %v, want %d in a quarter of %v", n, took, locks, locks*20*time.Millisecond)
		}
	})
}

// The root is all there is below the chroot, without ZooKeeper's own nodes.
func TestQueuesOfTheRoot(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		below := z.Dial(t, zksync.WithChroot(p))
		suite.Must(t, zksync.NewMutex(below, "/a").LockContext(ctx))
		suite.Must(t, zksync.NewMutex(below, "/b/zookeeper").LockContext(ctx))
		roots := map[*zksync.Session][]string{below: {"/a", "/b/zookeeper"}}
		if z.Server != nil { // a real one has other tests' nodes, and some refuse to be read
			roots[z.Dial(t)] = []string{p + "/a", p + "/b/zookeeper"}
		}
		for s, want := range roots {
			var got []string
			for q, err := range s.Queues(ctx, "/") {
				suite.Must(t, err)
				got = append(got, q.Path)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			tree, err := s.InspectTree(ctx, "/")
			suite.Must(t, err)
			if len(tree.Queues) != len(want) {
				t.Errorf("InspectTree: %d queues", len(tree.Queues))
			}
		}
		suite.Must(t, zksync.NewMutex(below, "/a").UnlockContext(ctx))
		suite.Must(t, zksync.NewMutex(below, "/b/zookeeper").UnlockContext(ctx))
	}, suite.Smoke)
}
