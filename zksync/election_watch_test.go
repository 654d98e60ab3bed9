package zksync_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A loop that nobody reads gets the latest leader, and one that ends leaves no watch.
func TestElectionObserveLeavesNothing(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		leader, s := z.Via(t, z.Server.Dial), z.Via(t, z.Server.Dial)
		m, e := zksync.NewMutex(leader, p), zksync.NewElection(s, p)
		watches := func() (n int) {
			for _, w := range z.Server.Watches() {
				if w.Session == s.ID() {
					n++
				}
			}
			return n
		}
		var h *zksync.Hold
		for _, leads := range []bool{false, true, false} { // the path is missing, then it has a leader, then none
			if leads {
				var err error
				h, err = m.Hold(ctx)
				suite.Must(t, err)
			} else if h != nil {
				suite.Must(t, h.Release(ctx))
			}
			for n, err := range e.Observe(ctx) {
				suite.Must(t, err)
				if (n.Node != "") != leads || watches() != 1 {
					t.Errorf("%+v, %d watches", n, watches())
				}
				break
			}
			suite.SleepReal(2 * s.Timeout())
			if n := watches(); n != 0 {
				t.Errorf("leads %v: %d watches are left: %v", leads, n, z.Server.Watches())
			}
		}
		i := 0
		for n, err := range e.Observe(ctx) {
			suite.Must(t, err)
			if i++; i == 2 {
				if n.Node != h.Node() {
					t.Errorf("%+v", n)
				}
				break
			}
			for range 5 { // while the body runs
				suite.Must(t, m.LockContext(ctx))
				suite.Must(t, m.UnlockContext(ctx))
			}
			h, err = m.Hold(ctx)
			suite.Must(t, err)
		}
		suite.Must(t, h.Release(ctx))
		suite.SleepReal(2 * s.Timeout())
		if n := watches(); n != 0 {
			t.Errorf("%d watches are left: %v", n, z.Server.Watches())
		}
	})
}

// The answer to a request for a watch may come after the loop has ended. Nobody uses that
// watch, so that it is removed, too.
func TestElectionObserveLeavesALateWatch(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		m := zksync.NewMutex(z.Via(t, z.Server.Dial), p)
		e := zksync.NewElection(z.Via(t, z.Server.Dial), p)
		for _, leads := range []bool{false, true} {
			if leads {
				m.Lock()
			}
			z.Server.Delay(time.Second / 2)
			ctx, cancel := context.WithTimeout(context.Background(), 1700*time.Millisecond) // within the second request
			start := time.Now()
			for n, err := range e.Observe(ctx) {
				if suite.IsError(t, err, context.DeadlineExceeded); n.Node != "" {
					t.Errorf("%+v", n)
				}
			}
			cancel()
			if took := time.Since(start); took != 1700*time.Millisecond {
				t.Errorf("ended after %v", took)
			}
			suite.SleepReal(2 * time.Second)
			if n := len(z.Server.Watches()); n != 1 {
				t.Errorf("leads %v: %d watches, want the late one", leads, n)
			}
			z.Server.Heal()
			suite.SleepReal(2 * suite.VirtualTimeout)
			if left := z.Server.Watches(); len(left) != 0 {
				t.Errorf("leads %v: left %v", leads, left)
			}
		}
		m.Unlock()
	})
}

// A loop that waits checks its watch once every session timeout, so that it hears of a
// change even if the event is lost.
func TestElectionObserveChecksItsWatch(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := context.Background(), z.Path(t)
		tap := &suite.Tap{To: z.Server.Dial}
		s := z.Via(t, tap.Dial)
		m := zksync.NewMutex(z.Via(t, z.Server.Dial), p)
		c := z.Raw(t)
		suite.Plant(t, c, "/suite", "", 0)
		suite.Plant(t, c, p, "", 0) // no container, which would go
		stop := make(chan struct{})
		o := observe(zksync.NewElection(s, p).Observe(ctx), stop)
		o.wants(t, "")
		var reads atomic.Int64
		tap.On(func(f suite.TapFrame) suite.TapAct {
			if !f.FromServer && f.Op > 0 && f.Op < 13 && f.Op != 11 { // no ping, no removal of a watch
				reads.Add(1)
			}
			if kind, _ := f.Event(); kind != 0 {
				return suite.TapDrop
			}
			return suite.TapPass
		})
		idle := func() {
			t.Helper()
			before := reads.Load()
			suite.SleepReal(5*suite.VirtualTimeout + time.Second)
			if n := reads.Load() - before; n != 5 {
				t.Errorf("%d reads in 5 session timeouts", n)
			}
		}
		var h *zksync.Hold
		for range 3 {
			idle()
			var err error
			h, err = m.Hold(ctx)
			suite.Must(t, err)
			o.wants(t, h.Node())
			idle()
			suite.Must(t, h.Release(ctx))
			o.wants(t, "")
		}
		close(stop)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, suite.Receive(t, o.end))
		suite.Must(t, h.Release(ctx))
		tap.On(nil)
	})
}

// Operations, as requests have them.
const opExists, opGetData, opGetChildren = 3, 4, 12

// stands makes the node of somebody who stands for an election, as another program would.
func stands(t *testing.T, c *zk.Conn, p string) (node string) {
	t.Helper()
	for _, parent := range []string{"/suite", p} {
		if _, err := c.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			t.Error(err)
		}
	}
	node, err := c.Create(p+"/lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Error(err)
	}
	return node
}

// before has f called once, before the n-th request of a kind.
func before(tap *suite.Tap, op int32, n int, f func()) {
	tap.On(func(frame suite.TapFrame) suite.TapAct {
		if !frame.FromServer && frame.Op == op {
			if n--; n == 0 {
				f()
			}
		}
		return suite.TapPass
	})
}

// present is the first leader that a loop gets.
func present(t *testing.T, e *zksync.Election) zksync.LockNode {
	t.Helper()
	for n, err := range e.Observe(suite.Context(t)) {
		suite.Must(t, err)
		return n
	}
	panic("zksync: unreachable")
}

// The leader may go between the list and the read of its node. Then the next one in line
// leads, or nobody.
func TestElectionLeaderGoesBetweenTwoRequests(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		tap := &suite.Tap{To: z.Server.Dial}
		c, s := z.Raw(t), z.Via(t, tap.Dial)
		for _, other := range []bool{true, false} {
			for _, observe := range []bool{true, false} {
				p, next := z.Path(t), ""
				first := stands(t, c, p)
				if other {
					next = stands(t, c, p)
				}
				before(tap, opGetData, 1, func() { suite.Must(t, c.Delete(first, -1)) })
				e := zksync.NewElection(s, p)
				if observe {
					if n := present(t, e); n.Node != next {
						t.Errorf("observed %+v, want %q", n, next)
					}
					continue
				}
				n, err := e.Leader(suite.Context(t))
				if n.Node != next || errors.Is(err, zksync.ErrNoLeader) == other {
					t.Errorf("%+v leads, %v, want %q", n, err, next)
				}
			}
		}
	})
}

// The first leader may come between the list that shows nobody and the request that sets
// the watch.
func TestElectionLeaderComesBetweenTwoRequests(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		tap := &suite.Tap{To: z.Server.Dial}
		c, s := z.Raw(t), z.Via(t, tap.Dial)
		for op, n := range map[int32]int{opExists: 1, opGetChildren: 2} {
			p, leader := z.Path(t), ""
			if op == opGetChildren { // the path exists
				suite.Must(t, c.Delete(stands(t, c, p), -1))
			}
			before(tap, op, n, func() { leader = stands(t, c, p) })
			if n := present(t, zksync.NewElection(s, p)); n.Node != leader || leader == "" {
				t.Errorf("observed %+v, want %q", n, leader)
			}
		}
	})
}
