package measure

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Paths says which locks the goroutines of a workload take.
type Paths int

// Which locks there are.
const (
	Shared Paths = iota // one for all
	Own                 // one for each goroutine
	Fresh               // a new one for each cycle
)

// Workload says who locks what. It is a plain value.
type Workload struct {
	Name       string // one word
	Title      string
	Sessions   int
	Goroutines int // of each session
	Paths      Paths
	Kinds      []Kind // whom to compare; the first one is the library
}

// Workloads are the rows of the table in docs/cost.md.
var Workloads = []Workload{
	{"free", "free lock, one goroutine, Lock/Unlock", 1, 1, Own, []Kind{Ours, ZkLock, Floor}},
	{"hold", "the same, Hold/Release", 1, 1, Own, []Kind{OursHold, ZkLock, Floor}},
	{"fresh", "free locks, each path used once, 4 goroutines", 1, 4, Fresh, []Kind{Ours, ZkLock}},
	{"many", "64 free locks at once, one session", 1, 64, Own, []Kind{Ours, ZkLock, Floor}},
	{"sessions2", "2 sessions on one lock", 2, 1, Shared, []Kind{Ours, ZkLock}},
	{"sessions8", "8 sessions on one lock", 8, 1, Shared, []Kind{Ours, ZkLock}},
	{"sessions32", "32 sessions on one lock", 32, 1, Shared, []Kind{Ours, ZkLock}},
	{"goroutines64", "64 goroutines of one session on one lock", 1, 64, Shared, []Kind{Ours, ZkLock}},
}

// Limit says when a round ends: after so many cycles, or after a time. One of the two
// is zero.
type Limit struct {
	Cycles int64
	For    time.Duration
}

// Round is what a team did in one round. It is a plain value, but for its times.
type Round struct {
	Took     time.Duration
	Cycles   int64
	Sessions []int64 // cycles of each session
	Counts           // on the wire
	Process          // in this process; an embedded server's share is in it
	// Of these the workers keep a record only if they are asked to.
	Waits  []*Times // of each session: from the call to the grant
	Passes *Times   // from the call of Unlock to the grant of one who waited in another session
}

// crew is a round under way.
type crew struct {
	team   *Team
	load   Workload
	base   string
	round  int
	limit  Limit
	detail bool

	stop   atomic.Bool
	left   atomic.Int64
	inside atomic.Int64 // holders of a shared lock
	last   atomic.Int64 // worker that gave the shared lock back last, from 1
	freed  atomic.Int64 // when, since start
	start  time.Time
	failed atomic.Pointer[error]
}

// worker is one goroutine of a crew.
type worker struct {
	on              session
	session, number int
	cycles          int64
	wait, pass      *Times
	waits           time.Duration // when the present call began, since start
}

// run has a team work for one round. A context that is done ends the round early, as an
// error.
func (c *crew) run(ctx context.Context) (*Round, error) {
	var workers []*worker
	sessions := c.team.all()
	for n := range c.load.Sessions * c.load.Goroutines {
		w := &worker{session: n / c.load.Goroutines, number: n}
		w.on = sessions[w.session]
		if c.detail {
			w.wait, w.pass = new(Times), new(Times)
		}
		workers = append(workers, w)
	}
	c.left.Store(c.limit.Cycles)
	if c.limit.Cycles == 0 {
		c.left.Store(1 << 62)
		defer time.AfterFunc(c.limit.For, func() { c.stop.Store(true) }).Stop()
	}
	defer context.AfterFunc(ctx, func() { c.stop.Store(true) })()

	before, process := c.team.Meter.Count(), processNow()
	c.start = time.Now()
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() { c.work(w) })
	}
	wg.Wait()
	r := &Round{Took: time.Since(c.start), Sessions: make([]int64, c.load.Sessions)}
	r.Process, r.Counts = processNow().minus(process), c.team.Meter.Count().Minus(before)
	if err := c.failed.Load(); err != nil {
		return nil, fmt.Errorf("%s, %s: %w", c.load.Name, c.team.Kind, *err)
	}
	r.gather(workers, c.detail)
	return r, ctx.Err()
}

// gather adds up what the workers did.
func (r *Round) gather(workers []*worker, detail bool) {
	if detail {
		r.Passes = new(Times)
		for range r.Sessions {
			r.Waits = append(r.Waits, new(Times))
		}
	}
	for _, w := range workers {
		r.Cycles += w.cycles
		r.Sessions[w.session] += w.cycles
		if detail {
			r.Waits[w.session].Merge(w.wait)
			r.Passes.Merge(w.pass)
		}
	}
}

// work locks and unlocks until the round ends.
func (c *crew) work(w *worker) {
	err := attempt(func() error {
		path := c.base
		if c.load.Paths == Own {
			path = fmt.Sprintf("%s/%d", c.base, w.number)
		}
		lock, unlock := w.on.locker(path)
		for !c.stop.Load() && c.left.Add(-1) >= 0 {
			if c.load.Paths == Fresh {
				path = fmt.Sprintf("%s/%s-%d-%d-%d", c.base, c.team.Kind.word(), c.round, w.number, w.cycles)
				lock, unlock = w.on.locker(path)
			}
			if err := c.cycle(w, lock, unlock); err != nil {
				return err
			}
			w.cycles++
		}
		return nil
	})
	if err != nil {
		c.failed.CompareAndSwap(nil, &err)
		c.stop.Store(true)
	}
}

// cycle locks and unlocks once.
func (c *crew) cycle(w *worker, lock, unlock func() error) error {
	shared := c.load.Paths == Shared
	if c.detail {
		w.waits = time.Since(c.start)
	}
	if err := lock(); err != nil {
		return err
	}
	if c.detail {
		c.granted(w)
	}
	if shared && c.inside.Add(1) != 1 {
		return fmt.Errorf("two hold the lock %s", c.base)
	}
	if shared {
		c.inside.Add(-1)
	}
	if c.detail {
		c.last.Store(int64(w.session) + 1)
		c.freed.Store(int64(time.Since(c.start)))
	}
	return unlock()
}

// granted records a grant.
func (c *crew) granted(w *worker) {
	now := time.Since(c.start)
	w.wait.Add(now - w.waits)
	last, freed := c.last.Load(), time.Duration(c.freed.Load())
	if c.load.Paths == Shared && last != 0 && last != int64(w.session)+1 && w.waits < freed {
		w.pass.Add(now - freed)
	}
}
