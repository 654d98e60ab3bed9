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
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The parts of a Multi, plain locks and other Multis on one path agree in what
// shows in ZooKeeper while they are in use, nested and named twice or not.
func TestMultiAgreesWithItsPaths(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s := suite.Context(t), z.Dial(t)
		p := z.Path(t)
		q := p + "-2"
		kazoo := zksync.WithKazooName()
		readers := zksync.WithACL(zk.ACL{Scheme: "world", ID: "anyone", Perms: zk.PermRead | zk.PermCreate | zk.PermDelete})
		mutex := func(path string, opts ...zksync.LockOption) zksync.Locker { return zksync.NewMutex(s, path, opts...) }
		multi := func(all ...zksync.Locker) suite.Lockable { return zksync.NewMulti(all...) }
		for name, pair := range map[string][2]suite.Lockable{
			"a part for kazoo":          {multi(mutex(p, kazoo), mutex(q)), mutex(p)},
			"a lock for kazoo":          {multi(mutex(p), mutex(q)), mutex(p, kazoo)},
			"an access list":            {multi(mutex(p, readers)), mutex(p)},
			"a reader's":                {multi(mutex(p, kazoo), mutex(q)), zksync.NewRWMutex(s, p).RLocker()},
			"another Multi's":           {multi(mutex(p, kazoo), mutex(q)), multi(mutex(p), mutex(p+"-3"))},
			"the same locks' Multi":     {multi(zksync.NewRWMutex(s, p, kazoo), mutex(q)), multi(zksync.NewRWMutex(s, p), mutex(q))},
			"nested":                    {multi(zksync.NewMulti(zksync.NewMulti(mutex(p, kazoo))), mutex(q)), mutex(p)},
			"a semaphore's":             {multi(mutex(p), mutex(q)), suite.Permits{Semaphore: zksync.NewSemaphore(s, p, 1), N: 1}},
			"a semaphore's access list": {multi(mutex(p, readers)), suite.Permits{Semaphore: zksync.NewSemaphore(s, p, 1), N: 1}},
		} {
			for i := range pair {
				used, differs := pair[i], pair[1-i]
				suite.Must(t, used.LockContext(ctx))
				soon, cancel := context.WithTimeout(ctx, 5*time.Second)
				e := suite.IsError(t, differs.LockContext(soon))
				cancel()
				if !strings.Contains(e.Error(), "another value for this path is in use") {
					t.Errorf("%s: %v", name, e)
				}
				suite.Must(t, used.UnlockContext(ctx))
				suite.LockAndUnlock(t, differs) // nobody uses it any more
			}
		}
		// Those who agree wait for each other.
		for name, pair := range map[string][2]suite.Lockable{
			"a part and a lock":    {multi(mutex(p, kazoo), mutex(q)), mutex(p, kazoo)},
			"two Multis":           {multi(mutex(p, kazoo), mutex(q)), multi(mutex(p, kazoo), mutex(p+"-3"))},
			"a reader of the path": {multi(mutex(p, kazoo), mutex(q)), zksync.NewRWMutex(s, p, kazoo).RLocker().(suite.Lockable)},
		} {
			for i := range pair {
				used, waits := pair[i], pair[1-i]
				suite.Must(t, used.LockContext(ctx))
				got := suite.Async(func() error { return waits.LockContext(ctx) })
				suite.AwaitWaiting(t, s, 1)
				suite.Must(t, used.UnlockContext(ctx))
				if err := suite.Receive(t, got); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				suite.Must(t, waits.UnlockContext(ctx))
			}
		}
		// What one Multi names twice has one way to stand in line, at every use.
		twice := zksync.NewMulti(mutex(p, kazoo), zksync.NewMulti(mutex(q), zksync.NewRWMutex(s, p).RLocker()))
		for range 2 {
			suite.IsError(t, twice.LockContext(ctx))
		}
		z.Empty(t, p)
		z.Empty(t, q)
	})
}

// Users of one path who disagree never hold it side by side, and each gets the
// lock or an error; those who agree are never refused.
func TestMultiAgreesUnderWay(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s := suite.Context(t), z.Dial(t)
		p, n := z.Path(t), suite.Runs(60)
		var using [2]atomic.Int64 // who holds with one set of options, and with the other
		var held, refused atomic.Int64
		var wg sync.WaitGroup
		for worker := range 6 {
			side := worker % 2
			var opts []zksync.LockOption
			if side == 1 {
				opts = append(opts, zksync.WithKazooName())
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
		suite.AtRest(t, s)
		suite.LockAndUnlock(t, zksync.NewMutex(s, p))
		suite.LockAndUnlock(t, zksync.NewMutex(s, p, zksync.WithKazooName()))
		z.Empty(t, p)
	})
}

// Multis of different locks are different locks, whichever paths they have.
func TestMultisOfDifferentLocksAreDifferent(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, root, s, raw := suite.Context(t), z.Path(t), z.Dial(t), z.Raw(t)
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
			suite.Must(t, h.Release(ctx))
		}
		// Nor is one of them what a value with an invalid path unlocks, though it
		// were the Multi's key.
		m := zksync.NewMulti(zksync.NewMutex(s, paths[0]), zksync.NewMutex(s, paths[1]))
		m.Lock()
		for _, path := range []string{"", "a", fmt.Sprintf("multi exclusive %s, exclusive %s", paths[0], paths[1]),
			fmt.Sprintf("exclusive false %d %sexclusive false %d %s", len(paths[0]), paths[0], len(paths[1]), paths[1])} {
			suite.Panics(t, "zksync: Unlock of an unlocked lock", zksync.NewMutex(s, path).Unlock)
			suite.Panics(t, "zksync: released more permits than held", func() { zksync.NewSemaphore(s, path, 1).Release(1) })
		}
		if taken, err := m.TryLockContext(ctx); taken || err != nil {
			t.Errorf("it is not locked any more: %v, %v", taken, err)
		}
		m.Unlock()
	})
}
