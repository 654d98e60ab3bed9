package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrTwo is wrapped by the error of a comparison in which two held a lock at once.
var ErrTwo = errors.New("two held a lock at once")

// errClosed is the error of a team that was closed while it was at work.
var errClosed = errors.New("the sessions were closed")

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
	Turns  *Times   // from a session's last Unlock to its next grant, others having had the lock
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
	start  time.Time
	failed atomic.Pointer[error]

	mu    sync.Mutex
	last  int             // guarded by mu; session that gave the shared lock back last
	freed []time.Duration // guarded by mu; when each session last did, since start; 0: never
	turns *Times          // guarded by mu
}

// worker is one goroutine of a crew.
type worker struct {
	on              Session
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
	if len(sessions) < c.load.Sessions {
		return nil, errClosed
	}
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

	c.last, c.freed, c.turns = -1, make([]time.Duration, c.load.Sessions), new(Times)
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
	c.gather(r, workers)
	return r, ctx.Err()
}

// gather adds up what the workers did.
func (c *crew) gather(r *Round, workers []*worker) {
	if c.detail {
		r.Passes, r.Turns = new(Times), c.turns
		for range r.Sessions {
			r.Waits = append(r.Waits, new(Times))
		}
	}
	for _, w := range workers {
		r.Cycles += w.cycles
		r.Sessions[w.session] += w.cycles
		if c.detail {
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
		lock, unlock := w.on.Locker(path)
		for !c.stop.Load() && c.left.Add(-1) >= 0 {
			if c.load.Paths == Fresh {
				path = fmt.Sprintf("%s/%s-%d-%d-%d", c.base, c.team.Kind.word(), c.round, w.number, w.cycles)
				lock, unlock = w.on.Locker(path)
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
		return fmt.Errorf("%w: %s", ErrTwo, c.base)
	}
	if shared {
		c.inside.Add(-1)
	}
	if c.detail {
		c.mu.Lock()
		c.last, c.freed[w.session] = w.session, time.Since(c.start)
		c.mu.Unlock()
	}
	return unlock()
}

// granted records a grant.
func (c *crew) granted(w *worker) {
	now := time.Since(c.start)
	w.wait.Add(now - w.waits)
	if c.load.Paths != Shared {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last < 0 || c.last == w.session {
		return
	}
	if w.waits < c.freed[c.last] {
		w.pass.Add(now - c.freed[c.last])
	}
	if freed := c.freed[w.session]; freed > 0 {
		c.turns.Add(now - freed)
	}
}
