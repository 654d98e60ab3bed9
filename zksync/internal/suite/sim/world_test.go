package sim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// world is one run of a plan.
type world struct {
	plan
	srv   *zktest.Server
	admin *zksync.Session
	start time.Time
	bg    context.Context
	slots []*slot

	mu     sync.Mutex
	trace  []string // guarded by mu, as the rest
	bad    []string // what is wrong
	stamp  int64    // counts the moments of the history
	active map[string][]*claim
	waits  map[*want]bool
	cuts   map[string][]context.CancelFunc // of calls that end with the next release
	taken  map[string]time.Time            // from a path, or a process: when
	broken map[string]time.Time            // nodes deleted by hand
	takes  map[string]int                  // how often
	joins  map[string]int                  // of each pool of plain locks: how often one was
	fences map[string]int64
	stores map[string]*store
	owners history
	writes history
	spent  map[string]bool // paths whose numbers were used up
	crash  time.Time       // the last one

	newerWorld
}

// simulate runs a plan, and returns what became of it.
func simulate(t *testing.T, p plan) *world {
	w := &world{
		plan: p, active: make(map[string][]*claim), waits: make(map[*want]bool),
		taken: make(map[string]time.Time), broken: make(map[string]time.Time), fences: make(map[string]int64),
		stores: make(map[string]*store), spent: make(map[string]bool),
		cuts: make(map[string][]context.CancelFunc), takes: make(map[string]int), joins: make(map[string]int),
		newerWorld: newerWorld{gaveUp: make(map[string]time.Time), failed: make(map[string]time.Time), procs: make(map[string]*process), spells: make(map[string][]*spell)},
	}
	late := time.AfterFunc(endless, func() { panic("no end of: " + p.again()) })
	defer late.Stop()
	ended := false
	defer func() {
		if !ended { // a panic of this goroutine: a deadlock, or something left running
			fmt.Fprintf(os.Stderr, "%s\n%s\n%s\n", p.again(), p, strings.Join(w.trace, "\n"))
		}
	}()
	if w.runs(t); len(w.hung) > 0 {
		ended = true
		return w
	}
	ended = true
	w.check()
	return w
}

func (w *world) run() {
	w.start, w.bg = time.Now(), context.Background()
	w.srv = zktest.New(zktest.WithTick(tick), zktest.WithReapInterval(5*time.Second), zktest.WithSeed(w.seed))
	defer w.srv.Close()
	for _, p := range w.paths {
		w.stores[p] = &store{w: w, path: p}
	}
	admin, err := zksync.Dial(w.bg, []string{"10.0.0.9"}, zksync.WithDialContext(w.srv.AddMember().DialContext))
	if err != nil {
		w.wrong("the first session: %v", err)
		return
	}
	w.admin = admin
	defer admin.Close()

	over := make(chan struct{})
	defer close(over)
	go w.listen(over)
	var lives, faults sync.WaitGroup
	for i := range w.plan.slots {
		s := new(slot)
		w.slots = append(w.slots, s)
		s.proc = w.launch(i, 0)
		lives.Go(func() { w.inhabit(i, s) })
	}
	for _, f := range w.plan.faults {
		faults.Go(func() { w.inflict(f) })
	}
	faults.Wait()
	w.log("the faults are over")
	ended := make(chan struct{})
	go func() { lives.Wait(); close(ended) }()
	limit := time.After(w.longest())
	settled := time.After(w.slowest() + 3*tick) // whose session is over by then, it knows
	poll := time.NewTicker(timeout / 12)
	defer poll.Stop()
	calm := false
	idle := make(map[string]int)
loop:
	for {
		select {
		case <-ended:
			break loop
		case <-limit:
			w.wrong("stuck: not over %v after the faults", w.longest())
			break loop
		case <-settled:
			calm = true
		case <-poll.C:
			if calm {
				w.checkIdle(idle)
			}
		}
	}
	w.settle()
	for _, s := range w.slots {
		if p := s.now(); p.s.Load() != nil && !p.closing.Swap(true) {
			if err := p.close(); err != nil {
				w.wrong("close of %s: %v", p.name, err)
			}
		}
	}
	<-ended
	w.outlive()
}

// log adds to the trace.
func (w *world) log(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logLocked(format, args...)
}

func (w *world) logLocked(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%12v  ", time.Since(w.start))+fmt.Sprintf(format, args...))
}

// wrong notes a broken promise.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrongLocked(format, args...)
}

func (w *world) wrongLocked(format string, args ...any) {
	w.logLocked("WRONG: "+format, args...)
	w.bad = append(w.bad, fmt.Sprintf(format, args...))
}
