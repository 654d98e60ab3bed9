package zksync_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The connection is cut without a sign, in either direction or both: the first
// hold's contexts end before another session holds.
func TestLoss_ConnectionCut(t *testing.T) {
	suite.Beside(t)
	for name, fault := range map[string]func(suite.Network){
		"ToServer": func(n suite.Network) { n.Blackhole(zktest.ToServer) },
		"ToClient": func(n suite.Network) {
			// No new connection is made, because no answer comes back. The
			// server reads from the old connection until the client closes it.
			n.Refuse()
			n.Blackhole(zktest.ToClient)
		},
		"Both": func(n suite.Network) { n.Blackhole() },
	} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				const n = 50
				root := z.Path(t)
				var first []*zksync.Session
				var networks []suite.Network
				for range n {
					n, s := z.Through(t, zksync.WithSessionTimeout(suite.LossTimeout))
					networks, first = append(networks, n), append(first, s)
				}
				var second []*zksync.Session
				for range 5 {
					second = append(second, z.Dial(t, zksync.WithSessionTimeout(suite.SecondsTimeout), suite.TellsLine()))
				}
				all := make([]time.Duration, n)
				ctx := suite.Context(t)
				suite.Together(t, n, func(i int) error {
					d, err := suite.BeginDuel(ctx, first[i], second[i%len(second)], fmt.Sprint(root, i))
					if err != nil {
						return err
					}
					suite.SleepReal(suite.AnyTime(suite.LossTimeout / 3))
					if err := d.First.Err(); err != nil {
						return fmt.Errorf("lost before the fault: %w", err)
					}
					fault(networks[i])
					all[i], err = d.End(ctx)
					networks[i].Heal()
					return err
				})
				suite.Margins(t, all)
				suite.CloseAll(t, first)
			}, suite.Timeless)
		})
	}
}

// A client that is heard and hears nothing keeps its session alive as long as
// something in between takes its new connections. It knows that it has lost
// the lock; the others get it when the deletion comes through.
func TestLoss_DeafClient(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		n, first := z.Through(t, zksync.WithSessionTimeout(suite.LossTimeout))
		second := z.Dial(t, zksync.WithSessionTimeout(suite.SecondsTimeout), suite.TellsLine())
		ctx := suite.Context(t)
		d, err := suite.BeginDuel(ctx, first, second, z.Path(t))
		if err != nil {
			t.Fatal(err)
		}
		n.Blackhole(zktest.ToClient)
		<-d.Ctx.Done()
		suite.SleepReal(suite.LossTimeout * 3 / 2) // an expiry would come within a tick of T
		n.Heal()
		margin, err := d.End(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("the first holder was out %v before the second was in", margin)
	}, suite.Timeless)
}

// A hold survives a quarter of the session timeout without contact, again and
// again.
func TestLoss_QuarterTimeoutIsNone(t *testing.T) {
	suite.Long(t)
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const timeout = 6 * time.Second
		n := suite.Runs(30)
		root := z.Path(t)
		var sessions []*zksync.Session
		var proxies []*ensemble.Proxy
		for range n {
			p := z.Proxied(t)
			proxies = append(proxies, p)
			sessions = append(sessions, suite.DialTo(t, []string{p.Addr()}, zksync.WithSessionTimeout(timeout)))
		}
		ctx := suite.Context(t)
		suite.Together(t, n, func(i int) error {
			h, err := zksync.NewMutex(sessions[i], fmt.Sprint(root, i)).Hold(ctx)
			if err != nil {
				return err
			}
			held := h.Context(ctx)
			suite.SleepReal(suite.AnyTime(timeout / 6))
			for round := range 3 {
				proxies[i].Blackhole([][]ensemble.Direction{nil, {ensemble.ToClient}, {ensemble.ToServer}}[(i+round)%3]...)
				suite.SleepReal(timeout / 4)
				proxies[i].Heal()
				if held.Err() != nil {
					return fmt.Errorf("round %d: lost: %w", round, context.Cause(held))
				}
				// In contact again: as long as the session takes to prove it.
				if err := sessions[i].Ping(ctx); err != nil {
					return err
				}
				suite.SleepReal(suite.AnyTime(timeout / 6))
			}
			if err := held.Err(); err != nil {
				return fmt.Errorf("lost: %w", context.Cause(held))
			}
			return h.Release(ctx)
		})
		suite.CloseAll(t, sessions)
	})
}

// Sessions that can reach one server of three lose their locks with it: killed
// just after its answer, which starts a clock that the leader may not know of;
// or, a follower, cut off from its leader, while it goes on answering its
// clients' pings and reads.
func TestLoss_OneOfThreeServers(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3, ensemble.WithTick(500*time.Millisecond))
	follower := func() int { return (e.Leader() + 1) % 3 }
	for _, test := range []struct {
		name          string
		victim        func() int
		fault, repair func(int) error
	}{
		{"FollowerKilled", follower, e.Kill, e.Start},
		{"LeaderKilled", e.Leader, e.Kill, e.Start},
		{"Lesson63_FollowerCutFromLeader", follower, e.Cut, e.Heal},
	} {
		t.Run(test.name, func(t *testing.T) {
			const perRound = 10
			var second []*zksync.Session
			for range 5 {
				second = append(second, suite.DialTo(t, e.Addrs(), zksync.WithSessionTimeout(suite.SecondsTimeout), suite.TellsLine()))
			}
			r := round{root: zksync.Path("/suite", t.Name()), second: second, fence: make([]int64, perRound)}
			var all []time.Duration
			for range suite.Runs(50) / perRound {
				i := test.victim()
				all = append(all, r.run(t, e.Addr(i), func() error { return test.fault(i) })...)
				if err := test.repair(i); err != nil {
					t.Fatal(err)
				}
				if err := e.WaitServing(30 * time.Second); err != nil {
					t.Fatal(err)
				}
				suite.CloseAll(t, r.first)
				if t.Failed() {
					return
				}
			}
			suite.Margins(t, all)
		})
	}
}

// round is one fault of a server and the duels that it decides.
type round struct {
	root          string
	first, second []*zksync.Session
	fence         []int64 // of the last hold of each path
}

func (r *round) run(t *testing.T, server string, fault func() error) []time.Duration {
	t.Helper()
	p := suite.ProxyTo(t, server)
	r.first = nil
	for range r.fence {
		r.first = append(r.first, suite.DialTo(t, []string{p.Addr()}, zksync.WithSessionTimeout(suite.LossTimeout)))
	}
	ctx := suite.Context(t)
	duels := make([]*suite.Duel, len(r.first))
	suite.Together(t, len(duels), func(k int) (err error) {
		duels[k], err = suite.BeginDuel(ctx, r.first[k], r.second[k%len(r.second)], fmt.Sprint(r.root, k))
		return err
	})
	if t.Failed() {
		t.FailNow()
	}
	suite.SleepReal(suite.AnyTime(suite.LossTimeout / 3))
	afterAnswers(ctx, t, p, r.first, fault)
	margin := make([]time.Duration, len(duels))
	suite.Together(t, len(duels), func(k int) (err error) {
		if f := duels[k].First.Fence(); f <= r.fence[k] {
			return fmt.Errorf("fence %d came after fence %d", f, r.fence[k])
		}
		margin[k], err = duels[k].End(ctx)
		r.fence[k] = duels[k].Fence
		return err
	})
	return margin
}

// afterAnswers makes a fault at the moment in which each session has got an
// answer of the quorum.
func afterAnswers(ctx context.Context, t *testing.T, p *ensemble.Proxy, sessions []*zksync.Session, fault func() error) {
	t.Helper()
	var answers atomic.Int32
	now := make(chan struct{})
	p.SetHook(func(f ensemble.Frame) ensemble.Action {
		if f.FromServer && f.Op == "multi" && answers.Add(1) == int32(len(sessions)) {
			close(now)
		}
		return ensemble.Pass
	})
	for _, s := range sessions {
		go s.Ping(ctx) // some are answered, some are cut off
	}
	select {
	case <-now:
	case <-ctx.Done():
		t.Fatal("no answers")
	}
	if err := fault(); err != nil {
		t.Fatal(err)
	}
	p.SetHook(nil)
}
