package zksync_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// kazoos are the nodes below p that kazoo looks for, and all are the others'.
func kazoos(t *testing.T, z *site, s *zksync.Session, p string) (kazoos, others []zksync.Node) {
	t.Helper()
	q, err := s.Inspect(short(t), p)
	ok(t, err)
	for _, n := range q.Nodes {
		if strings.Contains(n.Name, "__lock__") {
			kazoos = append(kazoos, n)
		} else {
			others = append(others, n)
		}
	}
	return kazoos, others
}

// mixed is a Multi of four paths, of which kazoo sees the first and the last.
func mixed(s *zksync.Session, root string) *zksync.Multi {
	queued := func(p string) *zksync.Mutex { return zksync.NewMutex(s, root+p, zksync.WithKazooQueue()) }
	return zksync.NewMulti(
		queued("/a"), zksync.NewMutex(s, root+"/b"), zksync.NewRWMutex(s, root+"/c", zksync.WithKazooQueue()),
		zksync.NewMulti(queued("/d"), zksync.NewRWMutex(s, root+"/d", zksync.WithKazooQueue()).RLocker()))
}

// Each part of a Multi has the second node that kazoo sees, if a plain lock with
// its options has one: in the same transaction, next to the first.
func TestMultiPartsKeepKazoosQueue(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		ctx, root, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t), z.dial(t)
		m := mixed(s, root)
		h, err := m.Hold(ctx)
		ok(t, err)
		for path, twins := range map[string]int{"/a": 1, "/b": 0, "/c": 0, "/d": 1} {
			theirs, ours := kazoos(t, z, other, root+path)
			if len(theirs) != twins || len(ours) != 1 {
				t.Fatalf("%s: %d nodes for kazoo, %d of ours", path, len(theirs), len(ours))
			}
			for _, n := range append(theirs, ours...) {
				if n.Fence != h.Fence() || n.Session != s.ID() {
					t.Errorf("%s is of session %#x at %d", n.Path, n.Session, n.Fence)
				}
			}
			if twins > 0 && theirs[0].Sequence != ours[0].Sequence+1 {
				t.Errorf("%s: between %s and %s is room", path, ours[0].Name, theirs[0].Name)
			}
		}
		// A kazoo's node is heeded, and stands behind.
		theirs := plant(t, raw, root+"/d/6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__", "py", zk.FlagEphemeral|zk.FlagSequence)
		next := async(func() error { return mixed(other, root).LockContext(ctx) })
		lineOf(t, raw, root+"/d", 5)
		ok(t, h.Release(ctx))
		lineOf(t, raw, root+"/a", 2)
		lineOf(t, raw, root+"/d", 3)
		notYet(t, next)
		ok(t, raw.Delete(theirs, -1))
		ok(t, get(t, next))
		ok(t, mixed(other, root).UnlockContext(ctx))
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			z.empty(t, root+p)
		}

		// It is lost with the node that only kazoo looks at.
		h, err = m.Hold(ctx)
		ok(t, err)
		twin, _ := kazoos(t, z, other, root+"/d")
		ok(t, raw.Delete(twin[0].Path, -1))
		get(t, h.Context(ctx).Done())
		isError(t, h.Release(ctx), zksync.ErrLost)
		atRest(t, s)
		free(t, m)
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			z.empty(t, root+p)
		}
	})
}

// The nodes for kazoo cost no request, and are found again when the answer to
// their making is lost.
func TestMultiWithKazoosQueueCosts(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, root := short(t), lockPath(t)
		s := z.counted(t)
		m := mixed(s.Session, root)
		free(t, m)
		s.take(t)
		ok(t, m.LockContext(ctx))
		s.wants(t, "a free Multi", ops{"multi": 1, "getChildren2": 4})
		ok(t, m.UnlockContext(ctx))
		s.wants(t, "its release", ops{"multi": 1})
		for _, p := range []string{"/a", "/b", "/c", "/d"} {
			ok(t, s.Conn().Delete(root+p, -1))
		}
		s.take(t)
		ok(t, m.LockContext(ctx))
		s.wants(t, "a Multi of new paths", ops{"createContainer": 4, "multi": 2, "getChildren2": 4})
		m.Unlock()
	})
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		ctx := short(t)
		s := via(t, srv.Dial)
		m := mixed(s, "/l")
		for i, drop := range []func(func(zktest.Request) bool){srv.DropReply, srv.DropRequest} {
			free(t, m)
			drop(once(asks("multi"))) // of the creation
			h, err := m.Hold(ctx)
			ok(t, err)
			if n := len(nodesOf(srv, s.ID())); n != 6 {
				t.Errorf("%d: %d nodes", i, n)
			}
			drop(once(asks("multi"))) // of the deletion
			ok(t, h.Release(ctx))
			drop(nil)
			for _, p := range []string{"/a", "/b", "/c", "/d"} {
				nobodyIn(t, srv, s, "/l"+p)
			}
		}
	})
}

// The parts of a Multi, plain locks and other Multis on one path agree in what
// shows in ZooKeeper while they are in use, nested and named twice or not.
func TestMultiAgreesWithItsPaths(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, s := short(t), z.dial(t)
		p := lockPath(t)
		q := p + "-2"
		kazoo := zksync.WithKazooQueue()
		readers := zksync.WithACL(zk.ACL{Scheme: "world", ID: "anyone", Perms: zk.PermRead | zk.PermCreate | zk.PermDelete})
		mutex := func(path string, opts ...zksync.LockOption) zksync.Locker { return zksync.NewMutex(s, path, opts...) }
		multi := func(all ...zksync.Locker) lockable { return zksync.NewMulti(all...) }
		for name, pair := range map[string][2]lockable{
			"a part for kazoo":          {multi(mutex(p, kazoo), mutex(q)), mutex(p)},
			"a lock for kazoo":          {multi(mutex(p), mutex(q)), mutex(p, kazoo)},
			"an access list":            {multi(mutex(p, readers)), mutex(p)},
			"a reader's":                {multi(mutex(p, kazoo), mutex(q)), zksync.NewRWMutex(s, p).RLocker()},
			"another Multi's":           {multi(mutex(p, kazoo), mutex(q)), multi(mutex(p), mutex(p+"-3"))},
			"the same locks' Multi":     {multi(zksync.NewRWMutex(s, p, kazoo), mutex(q)), multi(zksync.NewRWMutex(s, p), mutex(q))},
			"nested":                    {multi(zksync.NewMulti(zksync.NewMulti(mutex(p, kazoo))), mutex(q)), mutex(p)},
			"a semaphore's":             {multi(mutex(p), mutex(q)), some{zksync.NewSemaphore(s, p, 1), 1}},
			"a semaphore's access list": {multi(mutex(p, readers)), some{zksync.NewSemaphore(s, p, 1), 1}},
		} {
			for i := range pair {
				used, differs := pair[i], pair[1-i]
				ok(t, used.LockContext(ctx))
				soon, cancel := context.WithTimeout(ctx, 5*time.Second)
				e := isError(t, differs.LockContext(soon))
				cancel()
				if !strings.Contains(e.Error(), "another value for this path is in use") {
					t.Errorf("%s: %v", name, e)
				}
				ok(t, used.UnlockContext(ctx))
				free(t, differs) // nobody uses it any more
			}
		}
		// Those who agree wait for each other.
		for name, pair := range map[string][2]lockable{
			"a part and a lock":    {multi(mutex(p, kazoo), mutex(q)), mutex(p, kazoo)},
			"two Multis":           {multi(mutex(p, kazoo), mutex(q)), multi(mutex(p, kazoo), mutex(p+"-3"))},
			"a reader of the path": {multi(mutex(p, kazoo), mutex(q)), zksync.NewRWMutex(s, p, kazoo).RLocker().(lockable)},
		} {
			for i := range pair {
				used, waits := pair[i], pair[1-i]
				ok(t, used.LockContext(ctx))
				got := async(func() error { return waits.LockContext(ctx) })
				waiting(t, s, 1)
				ok(t, used.UnlockContext(ctx))
				if err := get(t, got); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				ok(t, waits.UnlockContext(ctx))
			}
		}
		// What one Multi names twice has one way to stand in line, at every use.
		twice := zksync.NewMulti(mutex(p, kazoo), zksync.NewMulti(mutex(q), zksync.NewRWMutex(s, p).RLocker()))
		for range 2 {
			isError(t, twice.LockContext(ctx))
		}
		z.empty(t, p)
		z.empty(t, q)
	})
}

// Users of one path who disagree never hold it side by side, and each gets the
// lock or is told; those who agree are never refused.
func TestMultiAgreesUnderWay(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, s := short(t), z.dial(t)
		p, n := lockPath(t), runs(60)
		var using [2]atomic.Int64 // who holds with one set of options, and with the other
		var held, refused atomic.Int64
		var wg sync.WaitGroup
		for worker := range 6 {
			side := worker % 2
			var opts []zksync.LockOption
			if side == 1 {
				opts = append(opts, zksync.WithKazooQueue())
			}
			m := zksync.NewMutex(s, p, opts...)
			own := zksync.NewMutex(s, fmt.Sprint(p, "-", worker))
			wg.Go(func() {
				for range n {
					time.Sleep(rand.N(4 * time.Millisecond)) // that the other side has its turn
					l := zksync.Locker(m)
					if rand.IntN(2) == 0 {
						l = zksync.NewMulti(m, own)
					}
					err := l.LockContext(ctx)
					if err != nil {
						refused.Add(1)
						if !strings.Contains(err.Error(), "another value for this path is in use") {
							t.Error(err)
						}
						continue
					}
					held.Add(1)
					if using[side].Add(1) != 1 || using[1-side].Load() != 0 {
						t.Error("held by two")
					}
					using[side].Add(-1)
					l.Unlock()
				}
			})
		}
		wg.Wait()
		t.Logf("%d holds, %d refusals", held.Load(), refused.Load())
		atRest(t, s)
		free(t, zksync.NewMutex(s, p))
		free(t, zksync.NewMutex(s, p, zksync.WithKazooQueue()))
		z.empty(t, p)
	})
}

// Whatever the paths are, Multis of different locks are different locks.
func TestMultisOfDifferentLocksAreDifferent(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, root, s, raw := short(t), lockPath(t), z.dial(t), z.raw(t)
		b := root + "/b"
		paths := []string{
			root + "/a", b,
			root + "/a, exclusive " + b, root + "/a, read " + b, root + "/a," + b, root + "/a " + b,
			root + fmt.Sprintf("/a, %d:%s", len(b), b), root + fmt.Sprintf("/aread false %d %s", len(b), b),
			root + fmt.Sprintf("/a\u00a0read\u00a0%q", b),
		}
		// Readers hold side by side: each Multi has a node in each of its paths.
		nodes := make(map[string]int)
		sets := [][]string{paths}
		for i, p := range paths {
			sets = append(sets, []string{p})
			for _, q := range paths[i+1:] {
				sets = append(sets, []string{p, q})
			}
		}
		var back []*zksync.Hold
		for _, set := range sets {
			var all []zksync.Locker
			for _, p := range set {
				all = append(all, zksync.NewRWMutex(s, p).RLocker())
				nodes[p]++
			}
			h, err := zksync.NewMulti(all...).TryHold(ctx)
			if err != nil {
				t.Fatalf("%q: %v", set, err)
			}
			back = append(back, h)
		}
		for _, p := range slices.Sorted(maps.Keys(nodes)) {
			if n := nodeCount(t, raw, p); n != nodes[p] {
				t.Errorf("%d nodes below %q, want %d", n, p, nodes[p])
			}
		}
		for _, h := range back {
			ok(t, h.Release(ctx))
		}
		// Nor is one of them what a value with an invalid path unlocks, though it
		// were the Multi's key.
		m := zksync.NewMulti(zksync.NewMutex(s, paths[0]), zksync.NewMutex(s, paths[1]))
		m.Lock()
		for _, path := range []string{"", "a", fmt.Sprintf("multi exclusive %s, exclusive %s", paths[0], paths[1]),
			fmt.Sprintf("exclusive false %d %sexclusive false %d %s", len(paths[0]), paths[0], len(paths[1]), paths[1])} {
			panics(t, "zksync: Unlock of an unlocked lock", zksync.NewMutex(s, path).Unlock)
			panics(t, "zksync: released more permits than held", func() { zksync.NewSemaphore(s, path, 1).Release(1) })
		}
		if taken, err := m.TryLockContext(ctx); taken || err != nil {
			t.Errorf("it is not locked any more: %v, %v", taken, err)
		}
		m.Unlock()
	})
}

// nodeCount is the number of lock nodes below p.
func nodeCount(t *testing.T, c *zk.Conn, p string) (n int) {
	t.Helper()
	for _, name := range children(t, c, p) {
		if strings.HasPrefix(name, "_c_") {
			n++
		}
	}
	return n
}

// An owner who holds one lock of a Multi, or a Multi with the lock, is told at
// once, whatever other Multis come and go.
func TestMultiTellsItsOwnerAmongOthers(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, root, s := short(t), lockPath(t), z.dial(t)
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
		for range runs(30) {
			o := zksync.NewOwner("o")
			with := zksync.WithOwner(ctx, o)
			a, b := zksync.NewRWMutex(s, root+"/a").RLocker(), zksync.NewMutex(s, root+"/b")
			for _, pair := range [][2]zksync.Locker{
				{zksync.NewMulti(a, b), b}, {b, zksync.NewMulti(a, b)},
				{zksync.NewMulti(a, b), zksync.NewMulti(b, zksync.NewMutex(s, root+"/c"))},
			} {
				ok(t, pair[0].LockContext(with))
				isError(t, pair[1].LockContext(with), zksync.ErrDeadlock)
				if err := pair[0].LockContext(with); err != nil { // again
					t.Error(err)
				} else {
					ok(t, pair[0].UnlockContext(with))
				}
				ok(t, pair[0].UnlockContext(with))
				ok(t, pair[1].LockContext(with))
				ok(t, pair[1].UnlockContext(with))
			}
		}
		close(stop)
		wg.Wait()
	})
}
