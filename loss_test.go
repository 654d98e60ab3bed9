package zksync_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// lossTimeout is the session timeout of the sessions that lose a lock: four
// ticks, the guide asks for three at least.
const lossTimeout = 2 * time.Second

// secondsTimeout is that of the sessions that come after them and are to live.
const secondsTimeout = 20 * time.Second

// The connection is cut without a sign, in either direction or both: the first
// hold's contexts end before another session holds.
func TestLoss_ConnectionCut(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Proxy){
		"ToServer": func(p *zktest.Proxy) { p.Blackhole(true, false) },
		"ToClient": func(p *zktest.Proxy) {
			// Where nothing comes back no new connection comes about: the
			// server goes on hearing the old one, until that is given up.
			p.Refuse(true)
			p.Blackhole(false, true)
		},
		"Both": func(p *zktest.Proxy) { p.Blackhole(true, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, z *site) {
				const n = 50
				root := lockPath(t)
				var first []*zksync.Session
				var proxies []*zktest.Proxy
				for range n {
					p := z.proxied(t)
					proxies = append(proxies, p)
					first = append(first, dialTo(t, []string{p.Addr()}, zksync.WithSessionTimeout(lossTimeout)))
				}
				var second []*zksync.Session
				for range 5 {
					second = append(second, z.dial(t, zksync.WithSessionTimeout(secondsTimeout), tellsLine()))
				}
				all := make([]time.Duration, n)
				ctx := short(t)
				together(t, n, func(i int) error {
					d, err := begin(ctx, first[i], second[i%len(second)], fmt.Sprint(root, i))
					if err != nil {
						return err
					}
					pass(anyTime(lossTimeout / 3))
					if err := d.first.Err(); err != nil {
						return fmt.Errorf("lost before the fault: %w", err)
					}
					fault(proxies[i])
					all[i], err = d.end(ctx)
					proxies[i].Heal()
					return err
				})
				margins(t, all)
				closeAll(t, first)
			})
		})
	}
}

// A client that is heard and hears nothing keeps its session alive as long as
// something in between takes its new connections. It knows that it has lost
// the lock; the others get it when the deletion comes through.
func TestLoss_DeafClient(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		p := z.proxied(t)
		first := dialTo(t, []string{p.Addr()}, zksync.WithSessionTimeout(lossTimeout))
		second := z.dial(t, zksync.WithSessionTimeout(secondsTimeout), tellsLine())
		ctx := short(t)
		d, err := begin(ctx, first, second, lockPath(t))
		if err != nil {
			t.Fatal(err)
		}
		p.Blackhole(false, true)
		<-d.ctx.Done()
		pass(lossTimeout * 3 / 2) // an expiry would come within a tick of T
		p.Heal()
		margin, err := d.end(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("the first holder was out %v before the second was in", margin)
	})
}

// A hold survives a quarter of the session timeout without contact, again and
// again.
func TestLoss_QuarterTimeoutIsNone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		const timeout = 6 * time.Second
		n := runs(30)
		root := lockPath(t)
		var sessions []*zksync.Session
		var proxies []*zktest.Proxy
		for range n {
			p := z.proxied(t)
			proxies = append(proxies, p)
			sessions = append(sessions, dialTo(t, []string{p.Addr()}, zksync.WithSessionTimeout(timeout)))
		}
		ctx := short(t)
		together(t, n, func(i int) error {
			h, err := zksync.NewMutex(sessions[i], fmt.Sprint(root, i)).Hold(ctx)
			if err != nil {
				return err
			}
			held := h.Context(ctx)
			pass(anyTime(timeout / 6))
			for round := range 3 {
				proxies[i].Blackhole((i+round)%3 != 1, (i+round)%3 != 2)
				pass(timeout / 4)
				proxies[i].Heal()
				if held.Err() != nil {
					return fmt.Errorf("round %d: lost: %w", round, context.Cause(held))
				}
				// In contact again: as long as the session takes to prove it.
				if err := sessions[i].Ping(ctx); err != nil {
					return err
				}
				pass(anyTime(timeout / 6))
			}
			if err := held.Err(); err != nil {
				return fmt.Errorf("lost: %w", context.Cause(held))
			}
			return h.Release(ctx)
		})
		closeAll(t, sessions)
	})
}

// Sessions that can reach one server of three lose their locks with it: killed
// just after its answer, which starts a clock that the leader may not know of;
// or, a follower, cut off from its leader, while it goes on answering its
// clients' pings and reads.
func TestLoss_OneOfThreeServers(t *testing.T) {
	e := zktest.RealEnsemble(t, 3, zktest.WithTickTime(500*time.Millisecond))
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
				second = append(second, dialTo(t, e.Servers(), zksync.WithSessionTimeout(secondsTimeout), tellsLine()))
			}
			r := round{root: lockPath(t), second: second, fence: make([]int64, perRound)}
			var all []time.Duration
			for range runs(50) / perRound {
				i := test.victim()
				all = append(all, r.run(t, e.Server(i), func() error { return test.fault(i) })...)
				if err := test.repair(i); err != nil {
					t.Fatal(err)
				}
				if err := e.WaitServing(30 * time.Second); err != nil {
					t.Fatal(err)
				}
				closeAll(t, r.first)
				if t.Failed() {
					return
				}
			}
			margins(t, all)
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
	p := proxyTo(t, server)
	r.first = nil
	for range r.fence {
		r.first = append(r.first, dialTo(t, []string{p.Addr()}, zksync.WithSessionTimeout(lossTimeout)))
	}
	ctx := short(t)
	duels := make([]*duel, len(r.first))
	together(t, len(duels), func(k int) (err error) {
		duels[k], err = begin(ctx, r.first[k], r.second[k%len(r.second)], fmt.Sprint(r.root, k))
		return err
	})
	if t.Failed() {
		t.FailNow()
	}
	pass(anyTime(lossTimeout / 3))
	afterAnswers(ctx, t, p, r.first, fault)
	margin := make([]time.Duration, len(duels))
	together(t, len(duels), func(k int) (err error) {
		if f := duels[k].first.Fence(); f <= r.fence[k] {
			return fmt.Errorf("fence %d came after fence %d", f, r.fence[k])
		}
		margin[k], err = duels[k].end(ctx)
		r.fence[k] = duels[k].fence
		return err
	})
	return margin
}

// afterAnswers makes a fault at the moment in which each session has got an
// answer of the quorum.
func afterAnswers(ctx context.Context, t *testing.T, p *zktest.Proxy, sessions []*zksync.Session, fault func() error) {
	t.Helper()
	var answers atomic.Int32
	now := make(chan struct{})
	p.SetHook(func(f zktest.Frame) zktest.Action {
		if f.FromServer && f.Op == "multi" && answers.Add(1) == int32(len(sessions)) {
			close(now)
		}
		return zktest.Pass
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
