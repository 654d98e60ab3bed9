package zksync_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// kazoos are the nodes below p that kazoo looks for, and all are the others'.
func kazoos(t *testing.T, z *suite.Ground, s *zksync.Session, p string) (kazoos, others []zksync.LockNode) {
	t.Helper()
	q, err := s.Inspect(suite.Context(t), p)
	suite.Must(t, err)
	for _, n := range q.Nodes {
		if strings.Contains(n.Node, "__lock__") {
			kazoos = append(kazoos, n)
		} else {
			others = append(others, n)
		}
	}
	return kazoos, others
}

// mixed is a Multi of four paths, of which kazoo sees the first and the last.
func mixed(s *zksync.Session, root string) *zksync.Multi {
	queued := func(p string) *zksync.Mutex { return zksync.NewMutex(s, root+p, zksync.WithKazooName()) }
	return zksync.NewMulti(
		queued("/a"), zksync.NewMutex(s, root+"/b"), zksync.NewRWMutex(s, root+"/c", zksync.WithKazooName()),
		zksync.NewMulti(queued("/d"), zksync.NewRWMutex(s, root+"/d", zksync.WithKazooName()).RLocker()))
}

// Each part of a Multi has the second node that kazoo sees, if a plain lock with
// its options has one: in the same transaction, next to the first.
func TestMultiPartsKeepKazoosQueue(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t), z.Dial(t)
		m := mixed(s, root)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		for path, twins := range map[string]int{"/a": 1, "/b": 0, "/c": 0, "/d": 1} {
			theirs, ours := kazoos(t, z, other, root+path)
			if len(theirs) != twins || len(ours) != 1 {
				t.Fatalf("%s: %d nodes for kazoo, %d of ours", path, len(theirs), len(ours))
			}
			for _, n := range append(theirs, ours...) {
				if n.Fence != h.Fence() || n.Session != s.ID() {
					t.Errorf("%s is of session %#x at %d", n.Node, n.Session, n.Fence)
				}
			}
			if twins > 0 && theirs[0].Sequence != ours[0].Sequence+1 {
				t.Errorf("%s: between %s and %s is room", path, ours[0].Node, theirs[0].Node)
			}
		}
		// A kazoo's node is heeded, and stands behind.
		theirs := suite.Plant(t, raw, root+"/d/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__", "py", zk.FlagEphemeral|zk.FlagSequence)
		next := suite.Async(func() error { return mixed(other, root).LockContext(ctx) })
		suite.InLine(t, raw, root+"/d", 5)
		suite.Must(t, h.Release(ctx))
		suite.InLine(t, raw, root+"/a", 2)
		suite.InLine(t, raw, root+"/d", 3)
		suite.NotYet(t, next)
		suite.Must(t, raw.Delete(theirs, -1))
		suite.Must(t, suite.Receive(t, next))
		suite.Must(t, mixed(other, root).UnlockContext(ctx))
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			z.Empty(t, root+p)
		}

		// It is lost with the node that only kazoo looks at.
		h, err = m.Hold(ctx)
		suite.Must(t, err)
		twin, _ := kazoos(t, z, other, root+"/d")
		suite.Must(t, raw.Delete(twin[0].Node, -1))
		suite.Receive(t, h.Context(ctx).Done())
		suite.IsError(t, h.Release(ctx), zksync.ErrLost)
		suite.AtRest(t, s)
		suite.LockAndUnlock(t, m)
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			z.Empty(t, root+p)
		}
	}, suite.Timeless)
}

// The nodes for kazoo cost no request, and are found again when the answer to
// their making is lost.
func TestMultiWithKazoosQueueCosts(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root := suite.Context(t), z.Path(t)
		s := z.Counted(t)
		m := mixed(s.Session, root)
		suite.LockAndUnlock(t, m)
		suite.LockAndUnlock(t, m) // the second use, from which on the paths are watched
		s.Take(t)
		suite.Must(t, m.LockContext(ctx))
		s.Wants(t, "a free Multi", suite.Ops{"multi": 1})
		suite.Must(t, m.UnlockContext(ctx))
		s.Wants(t, "its release", suite.Ops{"multi": 1})
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			suite.Must(t, s.Conn().Delete(root+p, -1))
		}
		s.Take(t)
		suite.Must(t, m.LockContext(ctx))
		s.Wants(t, "a Multi of new paths", suite.Ops{"createContainer": 4, "multi": 2, "getChildren2": 4})
		m.Unlock()
	})
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		ctx := suite.Context(t)
		s := z.Via(t, srv.Dial)
		m := mixed(s, "/l")
		for i, drop := range []func(func(zktest.Request) bool){srv.DropReply, srv.DropRequest} {
			suite.LockAndUnlock(t, m)
			drop(suite.Once(suite.Asks("multi"))) // of the creation
			h, err := m.Hold(ctx)
			suite.Must(t, err)
			if n := len(suite.NodesOf(srv, s.ID())); n != 6 {
				t.Errorf("%d: %d nodes", i, n)
			}
			drop(suite.Once(suite.Asks("multi"))) // of the deletion
			suite.Must(t, h.Release(ctx))
			drop(nil)
			for _, p := range []string{"/a", "/b", "/c", "/d"} {
				suite.NobodyIn(t, srv, s, "/l"+p)
			}
		}
	})
}

// nodeCount is the number of lock nodes below p.
func nodeCount(t *testing.T, c *zk.Conn, p string) (n int) {
	t.Helper()
	for _, name := range suite.Children(t, c, p) {
		if strings.HasPrefix(name, "_c_") {
			n++
		}
	}
	return n
}

// An owner that holds one lock of a Multi, or a Multi with the lock, and asks for the
// other gets an error at once, whatever other Multis come and go.
func TestMultiTellsItsOwnerAmongOthers(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, s := suite.Context(t), z.Path(t), z.Dial(t)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 4 { // beside, with a path in common
			wg.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					common := zksync.NewRWMutex(s, root+"/a").RLocker()
					m := zksync.NewMulti(common, zksync.NewMutex(s, fmt.Sprint(root, "/", i, "-", n%3)))
					if err := m.LockContext(ctx); err != nil {
						t.Error(err)
						return
					}
					m.Unlock()
				}
			})
		}
		for range suite.Runs(30) {
			o := zksync.NewOwner("o")
			with := zksync.WithOwner(ctx, o)
			a, b := zksync.NewRWMutex(s, root+"/a").RLocker(), zksync.NewMutex(s, root+"/b")
			for _, pair := range [][2]zksync.Locker{
				{zksync.NewMulti(a, b), b}, {b, zksync.NewMulti(a, b)},
				{zksync.NewMulti(a, b), zksync.NewMulti(b, zksync.NewMutex(s, root+"/c"))},
			} {
				suite.Must(t, pair[0].LockContext(with))
				suite.IsError(t, pair[1].LockContext(with), zksync.ErrDeadlock)
				if err := pair[0].LockContext(with); err != nil { // again
					t.Error(err)
				} else {
					suite.Must(t, pair[0].UnlockContext(with))
				}
				suite.Must(t, pair[0].UnlockContext(with))
				suite.Must(t, pair[1].LockContext(with))
				suite.Must(t, pair[1].UnlockContext(with))
			}
		}
		close(stop)
		wg.Wait()
	})
}
