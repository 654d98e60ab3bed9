package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Plan says how to compare. Its zero value is not usable; it is a plain value.
type Plan struct {
	Root   string // the node that the locks are below; it exists
	Rounds int
	Limit  Limit
	// Longer multiplies the cycles of the first team in a round that is limited by
	// cycles, for a lock that is much faster. 0 means 1.
	Longer int64
	Detail bool // record waits and passes; it costs some 100 ns a cycle
	// Tick is called before each round of a team, if it is not nil.
	Tick func(Kind)
}

// Result is what a team did in the rounds of a comparison.
type Result struct {
	Kind   Kind
	Rounds []*Round
}

// Compare has the teams work by turns, each for a round, and goes on until there are as
// many rounds as the plan wants. The first round of each team is a short one that does
// not count: it makes what is missing. A context that is done ends the comparison with
// its error.
func Compare(ctx context.Context, load Workload, teams []*Team, plan Plan) ([]*Result, error) {
	base := fmt.Sprintf("%s/%s-%s", plan.Root, load.Name, stamp())
	results := make([]*Result, len(teams))
	for i, t := range teams {
		results[i] = &Result{Kind: t.Kind}
		if err := t.Open(ctx, load.Sessions); err != nil {
			return nil, err
		}
	}
	for round := -1; round < plan.Rounds; round++ {
		for k := range teams {
			i := (k + round + 1) % len(teams) // no team is always the one after the same
			if round >= 0 && plan.Tick != nil {
				plan.Tick(teams[i].Kind)
			}
			r, err := turn(ctx, load, teams[i], plan, base, round, i == 0)
			if err != nil {
				return nil, err
			}
			if round >= 0 {
				results[i].Rounds = append(results[i].Rounds, r)
			}
		}
	}
	return results, nil
}

// turn is one round of one team; round -1 is the one that does not count.
func turn(ctx context.Context, load Workload, t *Team, plan Plan, base string, round int, first bool) (*Round, error) {
	c := &crew{team: t, load: load, base: base + "-" + t.Kind.word(), round: round, limit: plan.Limit, detail: plan.Detail}
	switch {
	case round < 0:
		if err := t.prepare(load, c.base); err != nil {
			return nil, err
		}
		c.limit = Limit{Cycles: int64(2 * load.Sessions * load.Goroutines)}
	case first && plan.Limit.Cycles > 0 && plan.Longer > 0:
		c.limit.Cycles *= plan.Longer
	}
	runtime.GC() // so that no round pays for the one before
	return c.run(ctx)
}

// prepare makes the nodes of the locks, or the one below which each cycle makes a new
// one.
func (t *Team) prepare(load Workload, base string) error {
	all := t.all()
	if len(all) == 0 {
		return errClosed
	}
	s, ok := all[0].(onZooKeeper)
	if !ok {
		return nil
	}
	c := s.client()
	if err := MakeNode(c, base); err != nil || load.Paths == Shared {
		return err
	}
	// The servers may delete a container while it is empty. zk.Lock makes its path again
	// level by level, and fails if a level goes meanwhile.
	if err := keep(c, base); err != nil || load.Paths != Own {
		return err
	}
	for n := range load.Sessions * load.Goroutines {
		path := fmt.Sprintf("%s/%d", base, n)
		if err := MakeNode(c, path); err != nil {
			return err
		}
		if t.Kind != Floor {
			continue // locks make it again
		}
		if err := keep(c, path); err != nil {
			return err
		}
	}
	return nil
}

// keep makes a child that keeps a container until the session ends.
func keep(c *zk.Conn, path string) error {
	_, err := c.Create(path+"/keep", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	return err
}

// MakeNode opens a session if there is none, and makes a node as [MakeNode] does. The
// team's locks must be on ZooKeeper.
func (t *Team) MakeNode(ctx context.Context, path string) error {
	if err := t.Open(ctx, 1); err != nil {
		return err
	}
	return MakeNode(t.all()[0].(onZooKeeper).client(), path)
}

// MakeNode makes a container, which the servers delete some time after its last child,
// or a plain node where the servers have no containers. A node that exists is fine.
func MakeNode(c *zk.Conn, path string) error {
	acl := zk.WorldACL(zk.PermAll)
	_, err := c.CreateContainer(path, nil, zk.FlagContainer, acl)
	if err == nil || errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrNoNode) {
		return err
	}
	_, err = c.Create(path, nil, 0, acl)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// stamp is part of a path that no other comparison uses.
func stamp() string { return fmt.Sprintf("%x", time.Now().UnixNano()) }

// word is the kind as a part of a path.
func (k Kind) word() string {
	return strings.NewReplacer(" ", "-", "+", "-").Replace(string(k))
}

// Rate returns the median of the rounds' cycles a second.
func (r *Result) Rate() float64 {
	return r.median(func(x *Round) float64 { return x.rate() })
}

// Ratio returns the median of the rounds' rates, each divided by that of the other team
// in the same round.
func (r *Result) Ratio(other *Result) float64 {
	var ratios []float64
	for i, x := range r.Rounds {
		ratios = append(ratios, x.rate()/other.Rounds[i].rate())
	}
	return Median(ratios)
}

// Wait returns the median of the rounds' median times from call to grant. The plan has to
// ask for details.
func (r *Result) Wait() time.Duration {
	return time.Duration(r.median(func(x *Round) float64 {
		var all Times
		for _, w := range x.Waits {
			all.Merge(w)
		}
		return float64(all.Quantile(0.5))
	}))
}

// Pass returns the median of the rounds' median times from the call of Unlock to the
// grant in another session, 0 without any. The plan has to ask for details.
func (r *Result) Pass() time.Duration {
	return time.Duration(r.median(func(x *Round) float64 { return float64(x.Passes.Quantile(0.5)) }))
}

// Waits returns the times from call to grant of all rounds. The plan has to ask for
// details.
func (r *Result) Waits() *Times {
	all := new(Times)
	for _, x := range r.Rounds {
		for _, w := range x.Waits {
			all.Merge(w)
		}
	}
	return all
}

// Passes returns the times from the call of Unlock to the grant in another session, of
// all rounds. The plan has to ask for details.
func (r *Result) Passes() *Times {
	all := new(Times)
	for _, x := range r.Rounds {
		all.Merge(x.Passes)
	}
	return all
}

// Turns returns how long the sessions waited for their next turn, in all rounds. The plan
// has to ask for details.
func (r *Result) Turns() *Times {
	all := new(Times)
	for _, x := range r.Rounds {
		all.Merge(x.Turns)
	}
	return all
}

// Fairness returns Jain's index over the cycles of the sessions in all rounds.
func (r *Result) Fairness() float64 {
	var shares []int64
	for _, x := range r.Rounds {
		shares = append(shares, make([]int64, max(0, len(x.Sessions)-len(shares)))...)
		for i, n := range x.Sessions {
			shares[i] += n
		}
	}
	return Jain(shares)
}

// PerCycle returns what a count of all rounds comes to for a cycle.
func (r *Result) PerCycle(count func(*Round) float64) float64 {
	var sum, cycles float64
	for _, x := range r.Rounds {
		sum += count(x)
		cycles += float64(x.Cycles)
	}
	return sum / max(cycles, 1)
}

func (r *Result) median(f func(*Round) float64) float64 {
	var all []float64
	for _, x := range r.Rounds {
		all = append(all, f(x))
	}
	return Median(all)
}

func (r *Round) rate() float64 { return float64(max(r.Cycles, 1)) / r.Took.Seconds() }
