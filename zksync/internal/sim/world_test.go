package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
}

// slot is a place where one process runs at a time.
type slot struct {
	mu   sync.Mutex
	proc *process // guarded by mu
}

func (s *slot) now() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// process is a program with its session.
type process struct {
	w       *world
	name    string
	slot    int
	s       atomic.Pointer[zksync.Session]
	doors   [2]*zktest.Door
	dead    atomic.Bool // crashed: what it thinks counts no more
	closing atomic.Bool
	murky   int                           // guarded by w.mu: faults under which news may take any time
	clear   time.Time                     // guarded by w.mu: when the last of these was over
	hang    atomic.Pointer[chan struct{}] // what the next dial waits for
}

// simulate runs a plan, and returns what became of it.
func simulate(t *testing.T, p plan) *world {
	w := &world{
		plan: p, active: make(map[string][]*claim), waits: make(map[*want]bool),
		taken: make(map[string]time.Time), broken: make(map[string]time.Time), fences: make(map[string]int64),
		stores: make(map[string]*store), spent: make(map[string]bool),
		cuts: make(map[string][]context.CancelFunc), takes: make(map[string]int), joins: make(map[string]int),
	}
	late := time.AfterFunc(endless, func() { panic("no end of: " + p.again()) })
	defer late.Stop()
	ended := false
	defer func() {
		if !ended { // a panic of this goroutine: a deadlock, or something left running
			fmt.Fprintf(os.Stderr, "%s\n%s\n%s\n", p.again(), p, strings.Join(w.trace, "\n"))
		}
	}()
	synctest.Test(t, func(*testing.T) { w.run() })
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
	admin, err := zksync.Dial(w.bg, []string{"10.0.0.9"}, zksync.WithDialer(w.srv.Door().Dial))
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
	settled := time.After(timeout + 3*tick) // whose session is over by then, it knows
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
			if err := p.s.Load().Close(); err != nil {
				w.wrong("close of %s: %v", p.name, err)
			}
		}
	}
	<-ended
}

// launch makes a process; its session is made in the slot.
func (w *world) launch(slot, n int) *process {
	p := &process{w: w, slot: slot, name: fmt.Sprintf("p%d.%d", slot, n)}
	for i := range p.doors {
		p.doors[i] = w.srv.Door()
		p.doors[i].Latency(w.latency)
	}
	return p
}

// inhabit runs the processes of a slot, one after the other.
func (w *world) inhabit(i int, s *slot) {
	for n, l := range w.plan.slots[i] {
		p := s.now()
		if n > 0 {
			p = w.launch(i, n)
			s.mu.Lock()
			s.proc = p
			s.mu.Unlock()
		}
		p.live(l)
	}
}

func (p *process) dial(network, addr string, d time.Duration) (net.Conn, error) {
	if until := p.hang.Swap(nil); until != nil {
		<-*until
	}
	i := 0
	if strings.HasPrefix(addr, "10.0.0.2") {
		i = 1
	}
	return p.doors[i].Dial(network, addr, d)
}

// live is the whole life of a process. What it leaves running after a crash is
// waited for too.
func (p *process) live(l life) {
	w := p.w
	s, err := zksync.Dial(w.bg, []string{"10.0.0.1", "10.0.0.2"}, zksync.WithDialer(p.dial), zksync.WithSessionTimeout(timeout),
		zksync.WithIdentity(p.name), zksync.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		zksync.WithLockDefaults(zksync.WithHandoff(w.handoff)))
	if err != nil {
		w.wrong("%s: dial: %v", p.name, err)
		return
	}
	p.s.Store(s)
	w.log("%s begins: session %#x", p.name, s.ID())
	var wg sync.WaitGroup
	for g, ops := range l.programs {
		wg.Go(func() { (&worker{p: p, name: fmt.Sprintf("%s/%d", p.name, g)}).run(ops) })
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	defer func() { <-ended }()
	if l.end == "" {
		return
	}
	select {
	case <-ended:
	case <-time.After(l.at):
	}
	p.end(l.end)
}

func (p *process) end(how string) {
	w := p.w
	w.log("%s: %s", p.name, how)
	switch how {
	case "crash":
		// For the others it has vanished; here its goroutines have to end.
		w.mu.Lock()
		p.dead.Store(true)
		w.crash = time.Now()
		p.closing.Store(true)
		for _, cs := range w.active {
			for _, c := range slices.Clone(cs) {
				if c.p == p {
					w.endLocked(c)
				}
			}
		}
		w.mu.Unlock()
		for _, d := range p.doors {
			d.Refuse(true)
			d.Blackhole(true, true)
		}
		_ = p.s.Load().Close()
		return
	case "shutdown":
		ctx, cancel := context.WithTimeout(w.bg, timeout)
		p.closing.Store(true)
		err := p.s.Load().Shutdown(ctx)
		cancel()
		if err != nil {
			w.log("%s: %v", p.name, err)
		}
	}
	p.closing.Store(true)
	if err := p.s.Load().Close(); err != nil {
		w.log("%s: %v", p.name, err)
	}
	w.log("%s is closed", p.name)
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
