package zksync_test

import (
	"context"
	"errors"
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

// The predecessor goes between the listing and the watch.
func TestLesson24_GoneBeforeTheWatch(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		proxy := z.proxied(t)
		s := dialTo(t, []string{proxy.Addr()})
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		for _, call := range calls {
			if call.try {
				continue
			}
			blocker, err := zksync.NewMutex(z.dial(t), p).Hold(short(t))
			ok(t, err)
			var once sync.Once
			proxy.SetHook(func(f zktest.Frame) zktest.Action {
				if f.FromServer && strings.HasPrefix(f.Op, "getChildren") && strings.Contains(string(f.Payload), "-lock-") {
					once.Do(func() { blocker.Release(short(t)) })
				}
				return zktest.Pass
			})
			release, err := call.take(short(t), m)
			ok(t, err)
			proxy.SetHook(nil)
			if blocker.Err() == nil {
				t.Fatal("the predecessor did not go")
			}
			ok(t, release(short(t)))
			lineOf(t, c, p, 0)
		}
	})
}

// A middle waiter leaves: the one behind it must not think that it is first.
func TestLesson26_MiddleWaiterLeaves(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		p := lockPath(t)
		first, second, third := zksync.NewMutex(z.dial(t), p), zksync.NewMutex(z.dial(t), p), z.dial(t)
		last := zksync.NewMutex(third, p)
		for _, leave := range []string{"cancelled", "deleted"} {
			h, err := first.Hold(short(t))
			ok(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			middle := async(func() error { return second.LockContext(ctx) })
			lineOf(t, c, p, 2)
			line := children(t, c, p)
			got := async(func() *zksync.Hold { h, _ := last.Hold(short(t)); return h })
			lineOf(t, c, p, 3)
			requests := third.Stats().Requests
			if leave == "cancelled" {
				cancel()
				isError(t, get(t, middle), context.Canceled)
			} else {
				i := slices.IndexFunc(line, func(n string) bool { return p+"/"+n != h.Node() })
				ok(t, c.Delete(p+"/"+line[i], -1))
			}
			eventually(t, "the last has looked again", func() bool { return third.Stats().Requests > requests })
			ok(t, third.Ping(short(t))) // and has its answers by now
			select {
			case <-got:
				t.Fatal("two holders")
			default:
			}
			if h.Err() != nil {
				t.Error(h.Err())
			}
			ok(t, h.Release(short(t)))
			ok(t, get(t, got).Release(short(t)))
			cancel()
			if leave == "deleted" && get(t, middle) == nil {
				second.Unlock()
			}
			lineOf(t, c, p, 0)
		}
	})
}

// The own node goes, or the session dies, while waiting: it is noticed at once,
// and what is granted in the end has a node of the living session.
func TestLesson27_OwnNodeGoneWhileWaiting(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		for _, how := range []string{"node deleted", "session expired", "parent deleted"} {
			t.Run(how, func(t *testing.T) {
				p := lockPath(t)
				blocker, err := zksync.NewMutex(z.dial(t), p).Hold(short(t))
				ok(t, err)
				s := z.dial(t)
				m := zksync.NewMutex(s, p)
				got := async(func() *zksync.Hold { h, _ := m.Hold(short(t)); return h })
				lineOf(t, c, p, 2)
				i := slices.IndexFunc(children(t, c, p), func(n string) bool { return p+"/"+n != blocker.Node() })
				old := p + "/" + children(t, c, p)[i]
				switch how {
				case "node deleted":
					ok(t, c.Delete(old, -1))
				case "session expired":
					ok(t, z.expire(s.ID()))
				case "parent deleted":
					_, err := c.Multi(&zk.DeleteRequest{Path: old, Version: -1}, &zk.DeleteRequest{Path: blocker.Node(), Version: -1},
						&zk.DeleteRequest{Path: p, Version: -1})
					ok(t, err)
				}
				if how != "parent deleted" {
					// It stands in line again before the blocker leaves.
					eventually(t, "a new node", func() bool {
						names := children(t, c, p)
						return len(names) == 2 && !slices.Contains(names, old[len(p)+1:])
					})
					select {
					case <-got:
						t.Fatal("two holders")
					default:
					}
					ok(t, blocker.Release(short(t)))
				}
				h := get(t, got)
				_, stat, err := c.Get(h.Node())
				if err != nil || h.Node() == old || stat.EphemeralOwner != s.ID() || h.Err() != nil {
					t.Errorf("%s after %s: %v, %v", h.Node(), old, err, h.Err())
				}
				ok(t, h.Release(short(t)))
				lineOf(t, c, p, 0)
			})
		}
	})
}

// One deadline for the whole call, however many predecessors come and go.
func TestLesson28_OneDeadline(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		p := lockPath(t)
		made(t, c, p)
		var ahead []string
		for range 8 {
			n, err := c.Create(p+"/_c_00000000-0000-4000-8000-000000000000-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			ok(t, err)
			ahead = append(ahead, n)
		}
		const limit = 800 * time.Millisecond
		m := zksync.NewMutex(z.dial(t), p)
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		result := async(func() error { return m.LockContext(ctx) })
		for left := ahead; len(left) > 1; left = left[1:] { // the nearest one ahead goes, again and again
			select {
			case <-time.After(limit / 4):
			case err := <-result:
				isError(t, err, context.DeadlineExceeded)
				if d := time.Since(start); d < limit || d > limit+time.Second {
					t.Errorf("after %v", d)
				}
				return
			}
			ok(t, c.Delete(left[len(left)-1], -1))
			ahead = ahead[:len(ahead)-1]
			left = ahead
		}
		t.Error("the deadline began again with each predecessor")
	})
}

// No watch is set on a node that is not there.
func TestLesson30_NoWatchOnWhatIsGone(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		proxy := z.proxied(t)
		s := dialTo(t, []string{proxy.Addr()})
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		free(t, m)
		before := z.watchCount(t)
		for range 20 {
			blocker, err := zksync.NewMutex(z.dial(t), p).Hold(short(t))
			ok(t, err)
			var once sync.Once
			proxy.SetHook(func(f zktest.Frame) zktest.Action {
				if f.FromServer && strings.HasPrefix(f.Op, "getChildren") {
					once.Do(func() { blocker.Release(short(t)) }) // gone when it is asked for
				}
				return zktest.Pass
			})
			h, err := m.Hold(short(t))
			ok(t, err)
			proxy.SetHook(nil)
			ok(t, h.Release(short(t)))
		}
		atRest(t, s)
		eventually(t, "no watch is left", func() bool { return z.watchCount(t) <= before })
	})
}

// However many tries time out on a lock that stays held, watches do not pile up.
func TestLesson31_WatchesDoNotPileUp(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		blocker := zksync.NewMutex(z.dial(t), p)
		s := z.dial(t)
		m := zksync.NewMutex(s, p)
		blocker.Lock()
		before := z.watchCount(t)
		tries := 10000
		if z.adapted {
			tries = 1000
		}
		var left atomic.Int64
		left.Store(int64(tries))
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					ctx, cancel := context.WithTimeout(context.Background(), 4*time.Millisecond)
					if err := m.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		atRest(t, s)
		// One on the holder's node; those on nodes of its own went with them.
		eventually(t, "one watch more than before", func() bool { return z.watchCount(t) <= before+1 })
		blocker.Unlock()
		free(t, m)
		eventually(t, "no watch more than before", func() bool { return z.watchCount(t) <= before })
		if n := s.Stats().Acquired; n != 1 {
			t.Errorf("%d grants", n)
		}
	})
}

// pokedCtx counts how often a call looks at its context, which it does when it
// is woken.
type pokedCtx struct {
	context.Context
	pokes *atomic.Int64
}

func (c pokedCtx) Err() error { c.pokes.Add(1); return c.Context.Err() }

// Of thousands of goroutines that wait for one lock, a release wakes one.
func TestLesson32_OneWakes(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		const n = 2000
		m := zksync.NewMutex(s, p, zksync.WithHandoff(n))
		other := zksync.NewMutex(z.dial(t), p)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var pokes atomic.Int64
		var wg sync.WaitGroup
		got := make(chan struct{})
		for _, holder := range []*zksync.Mutex{m, other} { // by hand-over, and by ZooKeeper
			holder.Lock()
			for range n {
				wg.Go(func() {
					if m.LockContext(pokedCtx{ctx, &pokes}) == nil {
						got <- struct{}{}
						m.Unlock()
					}
				})
			}
			waiting(t, s, n)
			pokes.Store(0)
			for range 5 {
				holder.Unlock()
				eventually(t, "one is through", func() bool { return s.Stats().Held == 1 && s.Stats().Waiting == n-1 })
				ok(t, s.Ping(short(t)))
				if k := pokes.Load(); k > 2 {
					t.Errorf("%d of %d goroutines woke", k, n)
				}
				break
			}
			for range n {
				get(t, got)
			}
			wg.Wait()
		}
		atRest(t, s)
	})
}
