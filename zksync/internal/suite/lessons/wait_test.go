package lessons_test

import (
	"cmp"
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
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The predecessor goes between the listing and the watch.
func TestGoneBeforeTheWatch(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		proxy := z.Proxied(t)
		s := suite.DialTo(t, []string{proxy.Addr()})
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		for _, call := range suite.Calls {
			if call.Try {
				continue
			}
			blocker, err := zksync.NewMutex(z.Dial(t), p).Hold(suite.Context(t))
			suite.Must(t, err)
			var once sync.Once
			proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
				if f.FromServer && strings.HasPrefix(f.Op, "getChildren") && strings.Contains(string(f.Payload), "-lock-") {
					once.Do(func() { blocker.Release(suite.Context(t)) })
				}
				return ensemble.Pass
			})
			release, err := call.Take(suite.Context(t), m)
			suite.Must(t, err)
			proxy.SetHook(nil)
			if blocker.Err() == nil {
				t.Fatal("the predecessor did not go")
			}
			suite.Must(t, release(suite.Context(t)))
			suite.InLine(t, c, p, 0)
		}
	})
}

// A middle waiter leaves: the one behind it must not think that it is first.
func TestMiddleWaiterLeaves(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		p := z.Path(t)
		first, second, third := zksync.NewMutex(z.Dial(t), p), zksync.NewMutex(z.Dial(t), p), z.Dial(t)
		last := zksync.NewMutex(third, p)
		for _, leave := range []string{"cancelled", "deleted"} {
			h, err := first.Hold(suite.Context(t))
			suite.Must(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			middle := suite.Async(func() error { return second.LockContext(ctx) })
			suite.InLine(t, c, p, 2)
			line := suite.Children(t, c, p)
			got := suite.Async(func() *zksync.Hold { h, _ := last.Hold(suite.Context(t)); return h })
			suite.InLine(t, c, p, 3)
			requests := third.Stats().Requests
			if leave == "cancelled" {
				cancel()
				suite.IsError(t, suite.Receive(t, middle), context.Canceled)
			} else {
				i := slices.IndexFunc(line, func(n string) bool { return p+"/"+n != h.Node() })
				suite.Must(t, c.Delete(p+"/"+line[i], -1))
			}
			suite.Eventually(t, "the last has looked again", func() bool { return third.Stats().Requests > requests })
			suite.Must(t, third.Ping(suite.Context(t))) // and has its answers by now
			select {
			case <-got:
				t.Fatal("two holders")
			default:
			}
			if h.Err() != nil {
				t.Error(h.Err())
			}
			suite.Must(t, h.Release(suite.Context(t)))
			suite.Must(t, suite.Receive(t, got).Release(suite.Context(t)))
			cancel()
			if leave == "deleted" && suite.Receive(t, middle) == nil {
				second.Unlock()
			}
			suite.InLine(t, c, p, 0)
		}
	}, suite.Timeless)
}

// The own node goes, or the session dies, while waiting: it is noticed at once, or
// within T on a program's own client, and what is granted in the end has a node of the
// living session.
func TestOwnNodeGoneWhileWaiting(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		for _, how := range []string{"node deleted", "session expired", "parent deleted"} {
			t.Run(how, func(t *testing.T) {
				p := z.Path(t)
				blocker, err := zksync.NewMutex(z.Dial(t), p).Hold(suite.Context(t))
				suite.Must(t, err)
				s := z.Dial(t)
				m := zksync.NewMutex(s, p)
				got := suite.Async(func() *zksync.Hold { h, _ := m.Hold(suite.Context(t)); return h })
				suite.InLine(t, c, p, 2)
				i := slices.IndexFunc(suite.Children(t, c, p), func(n string) bool { return p+"/"+n != blocker.Node() })
				old := p + "/" + suite.Children(t, c, p)[i]
				switch how {
				case "node deleted":
					suite.Must(t, c.Delete(old, -1))
				case "session expired":
					suite.Must(t, z.Expire(s.ID()))
				case "parent deleted":
					_, err := c.Multi(&zk.DeleteRequest{Path: old, Version: -1}, &zk.DeleteRequest{Path: blocker.Node(), Version: -1},
						&zk.DeleteRequest{Path: p, Version: -1})
					suite.Must(t, err)
				}
				if how != "parent deleted" {
					// It stands in line again before the blocker leaves.
					suite.Eventually(t, "a new node", func() bool {
						names := suite.Children(t, c, p)
						return len(names) == 2 && !slices.Contains(names, old[len(p)+1:])
					})
					select {
					case <-got:
						t.Fatal("two holders")
					default:
					}
					suite.Must(t, blocker.Release(suite.Context(t)))
				}
				h := suite.Receive(t, got)
				_, stat, err := c.Get(h.Node())
				if err != nil || h.Node() == old || stat.EphemeralOwner != s.ID() || h.Err() != nil {
					t.Errorf("%s after %s: %v, %v", h.Node(), old, err, h.Err())
				}
				suite.Must(t, h.Release(suite.Context(t)))
				suite.InLine(t, c, p, 0)
			})
		}
	})
}

// The own node of a session deeper in line goes. Nothing watches it there, but the session
// stands in line again within T, though its blocker still stands.
func TestOwnNodeGoneDeepInLine(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c, p := z.Raw(t), z.Path(t)
		first := zksync.NewMutex(z.Dial(t), p)
		first.Lock()
		second, third := z.Dial(t), z.Dial(t, zksync.WithSessionTimeout(3*time.Second))
		next := suite.Async(func() error { return zksync.NewMutex(second, p).LockContext(suite.Context(t)) })
		suite.InLine(t, c, p, 2)
		last := suite.Async(func() error { return zksync.NewMutex(third, p).LockContext(suite.Context(t)) })
		suite.InLine(t, c, p, 3)
		newest := func() string {
			return slices.MaxFunc(suite.Children(t, c, p), func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
		}
		old := newest()
		suite.Must(t, c.Delete(p+"/"+old, -1))
		suite.InLine(t, c, p, 3)
		if newest() == old {
			t.Error("the node was not deleted")
		}
		first.Unlock()
		suite.Must(t, suite.Receive(t, next))
		zksync.NewMutex(second, p).Unlock()
		suite.Must(t, suite.Receive(t, last))
		zksync.NewMutex(third, p).Unlock()
	}, suite.Timeless)
}

// A call has one deadline, whatever the number of its predecessors.
func TestOneDeadline(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		p := z.Path(t)
		suite.MakePath(t, c, p)
		var ahead []string
		for range 8 {
			n, err := c.Create(p+"/_c_00000000-0000-4000-8000-000000000000-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
			ahead = append(ahead, n)
		}
		const limit = 800 * time.Millisecond
		m := zksync.NewMutex(z.Dial(t), p)
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		result := suite.Async(func() error { return m.LockContext(ctx) })
		for left := ahead; len(left) > 1; left = left[1:] { // the nearest one ahead goes, again and again
			select {
			case <-time.After(limit / 4):
			case err := <-result:
				suite.IsError(t, err, context.DeadlineExceeded)
				if d := time.Since(start); d < limit || d > limit+time.Second {
					t.Errorf("after %v", d)
				}
				return
			}
			suite.Must(t, c.Delete(left[len(left)-1], -1))
			ahead = ahead[:len(ahead)-1]
			left = ahead
		}
		t.Error("the deadline began again with each predecessor")
	}, suite.Timeless)
}

// No watch is set on a node that is not there.
func TestNoWatchOnWhatIsGone(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		proxy := z.Proxied(t)
		s := suite.DialTo(t, []string{proxy.Addr()})
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		suite.LockAndUnlock(t, m)
		before := z.WatchCount(t)
		for range 20 {
			blocker, err := zksync.NewMutex(z.Dial(t), p).Hold(suite.Context(t))
			suite.Must(t, err)
			var once sync.Once
			proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
				if f.FromServer && strings.HasPrefix(f.Op, "getChildren") {
					once.Do(func() { blocker.Release(suite.Context(t)) }) // gone when it is asked for
				}
				return ensemble.Pass
			})
			h, err := m.Hold(suite.Context(t))
			suite.Must(t, err)
			proxy.SetHook(nil)
			suite.Must(t, h.Release(suite.Context(t)))
		}
		suite.AtRest(t, s)
		suite.Eventually(t, "no watch is left", func() bool { return z.WatchCount(t) <= before })
	})
}

// Calls that time out on a lock that stays held leave no watches behind.
func TestWatchesDoNotPileUp(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		blocker := zksync.NewMutex(z.Dial(t), p)
		s := z.Dial(t)
		m := zksync.NewMutex(s, p)
		blocker.Lock()
		before := z.WatchCount(t)
		tries := 10000
		if z.Adapted {
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
		suite.AtRest(t, s)
		// One on the holder's node; those on nodes of its own went with them.
		suite.Eventually(t, "one watch more than before", func() bool { return z.WatchCount(t) <= before+1 })
		blocker.Unlock()
		suite.LockAndUnlock(t, m)
		suite.Eventually(t, "no watch more than before", func() bool { return z.WatchCount(t) <= before })
		if n := s.Stats().Acquired; n != 1 {
			t.Errorf("%d grants", n)
		}
	}, suite.Timeless)
}

// pokedCtx counts how often a call looks at its context, which it does when it
// is woken.
type pokedCtx struct {
	context.Context
	pokes *atomic.Int64
}

func (c pokedCtx) Err() error { c.pokes.Add(1); return c.Context.Err() }

// A release wakes one of thousands of goroutines that wait for one lock.
func TestOneWakes(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		const n = 2000
		m := zksync.NewMutex(s, p, zksync.WithHandoff(n))
		other := zksync.NewMutex(z.Dial(t), p)
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
			suite.AwaitWaiting(t, s, n)
			pokes.Store(0)
			for range 5 {
				holder.Unlock()
				suite.Eventually(t, "one is through", func() bool { return s.Stats().Held == 1 && s.Stats().Waiting == n-1 })
				suite.Must(t, s.Ping(suite.Context(t)))
				if k := pokes.Load(); k > 2 {
					t.Errorf("%d of %d goroutines woke", k, n)
				}
				break
			}
			for range n {
				suite.Receive(t, got)
			}
			wg.Wait()
		}
		suite.AtRest(t, s)
	}, suite.Timeless)
}
