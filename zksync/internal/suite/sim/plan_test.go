package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// The session timeout that is asked for, and the server's tick.
const (
	timeout = 3 * time.Second
	tick    = 500 * time.Millisecond
)

// plan is what happens in one run. It follows from the seed alone; how the
// goroutines of a moment take turns does not.
type plan struct {
	seed    uint64
	full    bool
	kind    string // one of the newer kinds, or ""
	family  string // "": mutexes alone
	story   string
	paths   []string
	limits  []int64 // of the paths that are semaphores
	less    []int64 // by so many, in each place
	handoff int
	latency time.Duration
	slots   [][]life // processes that follow each other in one place
	faults  []fault

	patience   time.Duration // the session timeout of clients of their own, if longer
	fixedLimit int64         // of the first path, for a story
}

// life is one process.
type life struct {
	end      string // "", "crash", "close" or "shutdown"
	at       time.Duration
	programs [][]op // of its goroutines
	own      bool   // its session is on a client of its own
	kazoo    bool   // it has no session: it speaks for kazoo
	hooks    *hooks // of its tracer
}

// op is one step of a goroutine.
type op struct {
	kind   string
	path   int
	on     string        // what the lock is, and what for; "": a mutex
	weight int64         // of permits
	parts  []part        // of a Multi
	wait   time.Duration // the call's deadline; 0: none
	work   time.Duration // under the lock, or for sleep
	again  bool          // enters again on the way; of two, gives the second back first
	held   bool          // of two: with handles
	cut    bool          // cancelled when somebody gives the lock back
	named  bool          // for an owner whose name is known
	linger time.Duration // of the lock's value
	late   time.Duration // a leader goes on for so long when its context has ended
	ours   bool          // stands for the owner that the whole process shares
}

func (o op) String() string {
	if o.kind == "sleep" {
		return fmt.Sprintf("sleep %v", o.work)
	}
	text := o.kind + " " + o.lock()
	if o.kind != "lock" && o.kind != "trylock" && o.kind != "done" {
		text += fmt.Sprintf(" within %v", o.wait)
		if o.cut {
			text += " or the next release"
		}
	}
	if o.kind != "done" {
		text += fmt.Sprintf(" for %v", o.work)
	}
	if o.named {
		text += " by name"
	}
	if o.linger > 0 {
		text += fmt.Sprintf(" lingering %v", o.linger)
	}
	if o.kind == "nested" || o.kind == "then" {
		text += fmt.Sprintf(", then %d", o.parts[0].path)
	}
	switch {
	case o.again && (o.kind == "do" || o.kind == "as"):
		text += " twice"
	case o.kind == "downgrade" && o.held:
		text += " with handles"
	}
	if o.kind == "downgrade" && o.again {
		text += ", the read first"
	}
	if o.kind == "elect" {
		text += o.electText()
	}
	return text
}

// fault is done to the members of one slot, or to a path, for some time.
type fault struct {
	kind  string
	slot  int
	path  int
	at    time.Duration
	lasts time.Duration
	n     int // which member, how many nodes, which number
}

func (f fault) String() string {
	return fmt.Sprintf("%v %s slot=%d path=%d for %v n=%d", f.at, f.kind, f.slot, f.path, f.lasts, f.n)
}

var opKinds = []string{"lock", "lock", "lockctx", "lockctx", "trylock", "hold", "hold", "hold", "tryhold",
	"do", "do", "as", "as", "sleep", "done"}

var faultKinds = []string{"expire", "disconnect", "disconnect", "deaf", "mute", "blackhole", "blackhole", "lose", "lose", "lose",
	"delay", "lag", "cut", "cut", "cut", "cut", "restart", "renew", "break", "break", "sequence", "reap", "lagged loss", "lagged loss", "away", "hang"}

// The size of a full plan: so many places for processes, goroutines in each.
const (
	fullSlots      = 4
	fullGoroutines = 4
)

// newPlan makes the plan of a seed. A full one has all its places taken, by
// processes with all their goroutines, and faults.
func newPlan(seed uint64, full bool) plan {
	var p plan
	switch n := seed / 2; {
	case seed >= elections:
		p = newerPlan(seed-elections, full, electionKinds, 9)
	case seed >= newer:
		p = newerPlan(seed-newer, full, newerKinds, 4)
	case seed%2 == 0:
		p = mutexPlan(n, full)
	default:
		p = familyPlan(n, seed, full)
	}
	p.seed, p.full = seed, full
	p.lingers()
	p.remakes()
	p.replaces()
	p.spends()
	return p
}

// lingers has values of every second plan linger. Its numbers are drawn apart, so that
// seeds keep their meaning in all else.
func (p *plan) lingers() {
	r := source(p.seed, p.full, 6)
	if r.IntN(2) == 0 || p.handoff == 0 {
		return
	}
	if p.story == "" && len(p.slots) > 1 && p.limits[0] == 0 && r.IntN(3) == 0 {
		p.story = "cut off while it lingers"
		lingersOn(r, p)
	}
	for _, lives := range p.slots {
		for _, l := range lives {
			for _, ops := range l.programs {
				for i := range ops {
					if r.IntN(4) > 0 && ops[i].on != asPermit && ops[i].on != "multi" {
						ops[i].linger = span(r, 2*timeout)
					}
				}
			}
		}
	}
}

// remakes has some plans without a story make a lock's path anew. Its numbers are drawn
// apart, so that seeds keep their meaning in all else.
func (p *plan) remakes() {
	r := source(p.seed, p.full, 7)
	if p.story != "" || len(p.slots) < 2 || p.limits[0] != 0 || r.IntN(3) > 0 {
		return
	}
	p.story = "path made anew"
	madeAnew(r, p)
}

// mutexPlan makes the n-th plan of mutexes. Every second one has a story, each in
// its turn.
func mutexPlan(n uint64, full bool) plan {
	r := source(n, full, 0)
	p := draw(r, full)
	if n%2 == 1 {
		st := stories[n/2%uint64(len(stories))]
		p.story = st.name
		st.tell(r, &p)
	}
	p.limits = make([]int64, len(p.paths))
	return p
}

func source(n uint64, full bool, stream uint64) *rand.Rand {
	size := 1 + stream
	if full {
		size++
	}
	return rand.New(rand.NewPCG(n, size))
}

// draw makes a plan without a story.
func draw(r *rand.Rand, full bool) plan {
	p := plan{handoff: []int{16, 2, 0}[r.IntN(3)]}
	for i := range 1 + r.IntN(3)*r.IntN(2) {
		p.paths = append(p.paths, fmt.Sprintf("/l%d", i))
	}
	if r.IntN(2) == 0 {
		p.latency = time.Duration(1+r.IntN(20)) * time.Millisecond
	}
	slots, faults := 2+r.IntN(fullSlots-1), r.IntN(8)
	if full {
		slots, faults = fullSlots, max(faults, 1)
	}
	for range slots {
		var lives []life
		for n := 1 + r.IntN(2); len(lives) < n; {
			l := life{end: pick(r, "", "", "", "close", "shutdown", "crash"), at: span(r, 3*timeout)}
			if len(lives) < n-1 {
				l.end = pick(r, "crash", "crash", "close", "shutdown")
			}
			goroutines := 1 + r.IntN(fullGoroutines)
			if full {
				goroutines = fullGoroutines
			}
			for range goroutines {
				var ops []op
				for range 2 + r.IntN(5) {
					ops = append(ops, newOp(r, len(p.paths)))
				}
				l.programs = append(l.programs, ops)
			}
			lives = append(lives, l)
		}
		p.slots = append(p.slots, lives)
	}
	// Late ones meet much that goes on; early ones show what they leave behind.
	within, most := 3*timeout, 2*timeout
	if r.IntN(3) == 0 {
		within, most = timeout, timeout/4
	}
	for range faults {
		p.faults = append(p.faults, fault{
			kind: faultKinds[r.IntN(len(faultKinds))], slot: r.IntN(len(p.slots)), path: r.IntN(len(p.paths)),
			at: span(r, within), lasts: span(r, most), n: r.IntN(1000),
		})
	}
	return p
}

func newOp(r *rand.Rand, paths int) op {
	o := op{kind: opKinds[r.IntN(len(opKinds))], path: r.IntN(paths), again: r.IntN(2) == 0}
	// Round numbers, so that things happen at the same moment.
	o.work = time.Duration(r.IntN(8)) * 20 * time.Millisecond
	if r.IntN(5) == 0 {
		o.work = span(r, 2*timeout)
	}
	o.cut = r.IntN(8) == 0
	o.wait = time.Duration(1+r.IntN(40)) * 20 * time.Millisecond
	if r.IntN(3) == 0 {
		o.wait = span(r, 2*timeout)
	}
	return o
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// span is up to most, in steps that are not too fine.
func span(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(1+r.IntN(int(most/(10*time.Millisecond)))) * 10 * time.Millisecond
}

// longest is how long all that may take without faults.
func (p plan) longest() time.Duration {
	var sum time.Duration
	for _, lives := range p.slots {
		for _, l := range lives {
			for _, ops := range l.programs {
				for _, o := range ops {
					sum += o.work + 200*time.Millisecond
					if slices.Contains(longKinds, o.kind) {
						sum += 2*o.work + o.wait + 2*timeout
					}
				}
			}
		}
	}
	if p.kind == "hooked" {
		sum *= 4
	}
	return sum + 3*timeout + 3*p.slowest()
}

// slowest is the longest session timeout.
func (p plan) slowest() time.Duration { return max(timeout, p.patience) }

// longKinds take longer than their work.
var longKinds = []string{"nested", "then", "deadlocks", "inspect", "reenter", "revoke", "wrong", "zero", "elect", "ask back"}
