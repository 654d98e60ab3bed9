package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/measure"
)

// rounds is how many rounds each lock has in each workload.
const rounds = 5

// grace is how long calls under way may take after the measurement was asked to end.
// Then the sessions are closed under them.
const grace = 2 * time.Second

// Bench is one measurement.
type Bench struct {
	Target     measure.Target
	Conn       *zk.Conn // makes and deletes the nodes
	Root       string   // the node to make; its parent exists
	Length     time.Duration
	Sessions   int
	Goroutines int // of each session
	// Progress is called from time to time, if it is not nil.
	Progress func(done float64, text string)

	teams []*measure.Team
}

// workloads returns what is measured.
func (b *Bench) workloads() []measure.Workload {
	contended := []measure.Kind{measure.Ours, measure.ZkLock}
	list := []measure.Workload{{
		Name: "free", Title: "a free lock, one goroutine", Sessions: 1, Goroutines: 1, Paths: measure.Own,
		Kinds: []measure.Kind{measure.Ours, measure.OursHold, measure.ZkLock, measure.Floor},
	}}
	add := func(name, title string, sessions, goroutines int) {
		list = append(list, measure.Workload{Name: name, Title: title, Sessions: sessions, Goroutines: goroutines, Kinds: contended})
	}
	if b.Goroutines > 1 {
		add("goroutines", fmt.Sprintf("%d goroutines of one session on one lock", b.Goroutines), 1, b.Goroutines)
	}
	if b.Sessions > 1 {
		add("sessions", fmt.Sprintf("%d sessions on one lock", b.Sessions), b.Sessions, 1)
	}
	if b.Sessions > 1 && b.Goroutines > 1 {
		add("crowd", fmt.Sprintf("%d sessions of %d goroutines on one lock", b.Sessions, b.Goroutines), b.Sessions, b.Goroutines)
	}
	return list
}

// Run measures. It leaves nodes below Root; [Bench.Clean] deletes them, and has to be
// called whatever Run returns. A context that is done ends Run with the context's error.
func (b *Bench) Run(ctx context.Context) (*Report, error) {
	b.reachable(ctx)
	err := measure.MakeNode(b.Conn, b.Root)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("there is no node %s to make another one below: %w", path.Dir(b.Root), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Root, err)
	}
	teams := make(map[measure.Kind]*measure.Team)
	for _, kind := range []measure.Kind{measure.Ours, measure.OursHold, measure.ZkLock, measure.Floor} {
		teams[kind] = measure.NewTeam(kind, b.Target)
		b.teams = append(b.teams, teams[kind])
	}
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { _ = b.close() }) })()
	return b.measure(ctx, teams)
}

func (b *Bench) measure(ctx context.Context, teams map[measure.Kind]*measure.Team) (*Report, error) {
	list, turns := b.workloads(), 0
	for _, load := range list {
		turns += rounds * len(load.Kinds)
	}
	report, start, done := b.newReport(), time.Now(), 0
	for _, load := range list {
		plan := measure.Plan{Root: b.Root, Rounds: rounds, Detail: true}
		plan.Limit.For = max(b.Length/time.Duration(turns), time.Millisecond)
		plan.Tick = func(kind measure.Kind) {
			if b.Progress != nil {
				b.Progress(float64(done)/float64(turns), fmt.Sprintf("%s, %s", load.Title, kind))
			}
			done++
		}
		var who []*measure.Team
		for _, kind := range load.Kinds {
			who = append(who, teams[kind])
		}
		results, err := measure.Compare(ctx, load, who, plan)
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return nil, err
		}
		report.add(load, results)
	}
	report.Duration = seconds(time.Since(start))
	return report, nil
}

// reachable leaves those servers of the target that accept a connection, if any does:
// each session is at one server, so that all locks are measured on the same ones.
func (b *Bench) reachable(ctx context.Context) {
	var up []string
	for _, addr := range b.Target.Servers {
		d := net.Dialer{Timeout: time.Second}
		if c, err := d.DialContext(ctx, "tcp", addr); err == nil {
			c.Close()
			up = append(up, addr)
		}
	}
	if len(up) > 0 {
		b.Target.Servers = up
	}
}

func (b *Bench) close() error {
	var errs []error
	for _, t := range b.teams {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

// Clean closes the sessions and deletes all that Run has made. It tries for as long as
// ctx allows.
func (b *Bench) Clean(ctx context.Context) error {
	closed := b.close() // what it could not delete is deleted now
	for {
		left := make(chan error, 1)
		go func() { left <- remove(b.Conn, b.Root) }()
		var err error
		select {
		case err = <-left:
			if err == nil {
				return nil
			}
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), closed)
		}
		select {
		case <-time.After(50 * time.Millisecond): // a session's end takes a moment to delete its nodes
		case <-ctx.Done():
			return errors.Join(err, closed)
		}
	}
}

// remove deletes a node and all below it.
func remove(c *zk.Conn, node string) error {
	children, _, err := c.Children(node)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range children {
		if err := remove(c, path.Join(node, name)); err != nil {
			return err
		}
	}
	if err := c.Delete(node, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%s: %w", node, err)
	}
	return nil
}
