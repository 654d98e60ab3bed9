package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// newer is the first seed of the newer kinds of program: the seeds below it keep
// their meaning.
const newer = 10_000_000_000_000

// newerKind is a kind of program beside those of the families. Every second
// program of it has a story: one of its own, or one for all.
type newerKind struct {
	name    string
	prepare func(r *rand.Rand, p *plan) // before the story
	stories []story
	dress   func(r *rand.Rand, p *plan) // after it
}

// The newer kinds, each in its turn.
var newerKinds = []newerKind{
	{"adapted", anyFamily, adaptedStories, dressAdapted},
	{"kazoo", nil, kazooStories, dressKazoo},
	{"inspected", prepareInspected, inspectedStories, dressInspected},
	{"misuse", anyFamily, misuseStories, dressMisuse},
	{"hooked", anyFamily, hookedStories, dressHooked},
}

// newerPlan makes the n-th plan of some kinds, from a stream of random numbers.
func newerPlan(n uint64, full bool, kinds []newerKind, stream uint64) plan {
	r := source(n, full, stream)
	p := draw(r, full)
	kind := kinds[n%uint64(len(kinds))]
	p.kind = kind.name
	if kind.prepare != nil {
		kind.prepare(r, &p)
	}
	if n /= uint64(len(kinds)); n%2 == 1 {
		all := slices.Concat(kind.stories, kind.stories, kind.stories, stories)
		st := all[n/2%uint64(len(all))]
		p.story = st.name
		st.tell(r, &p)
	}
	kind.dress(r, &p)
	return p
}

// kindName is how -sim.kind names the kind of a plan.
func (p plan) kindName() string {
	switch {
	case p.kind != "":
		return p.kind
	case p.family != "":
		return p.family
	}
	return "mutexes"
}

// kindNames are the kinds of programs there are.
func kindNames() []string {
	names := olderKinds()
	for _, k := range slices.Concat(newerKinds, electionKinds) {
		names = append(names, k.name)
	}
	return names
}

// olderKinds are the kinds of the seeds below newer.
func olderKinds() []string { return append([]string{"mutexes"}, families...) }

// seedOf is the n-th seed of a run: every second one is of the newer kinds, and every
// fourth of these of elections.
func seedOf(first, n uint64) uint64 {
	switch {
	case first >= newer: // or elections
		return first + n
	case n%8 == 7:
		return elections + first + n/8
	case n%2 == 1:
		return newer + first + n/2
	}
	return first + n/2
}

// anyFamily has the plan's locks be mutexes, or those of a family.
func anyFamily(r *rand.Rand, p *plan) {
	p.family = pick(r, "", "readers", "permits", "several")
	if p.family == "several" {
		p.wantPaths(2 + r.IntN(2))
	}
}

// dressFamily makes the locks of a plan those that anyFamily has drawn.
func (p *plan) dressFamily(r *rand.Rand) {
	if p.family == "" {
		p.limits = make([]int64, len(p.paths))
		return
	}
	p.dress(r)
}

// each calls f for every process of the plan.
func (p *plan) each(f func(slot int, l *life)) {
	for slot := range p.slots {
		for i := range p.slots[slot] {
			f(slot, &p.slots[slot][i])
		}
	}
}

// without leaves the faults of a kind out.
func (p *plan) without(kinds ...string) {
	for i := range p.faults {
		if slices.Contains(kinds, p.faults[i].kind) {
			p.faults[i].kind = "none"
		}
	}
}

// closes has the first process of a place end by Close.
func (p *plan) closes(slot int, at time.Duration) {
	l := &p.slots[slot][0]
	l.end, l.at = "close", at
}

// longPatience is a session timeout that is longer than Close takes.
const longPatience = 3 * timeout

// An adapted program's processes have a client of their own. Many of them close
// their session while something is under way; the client lives on.
func dressAdapted(r *rand.Rand, p *plan) {
	p.dressFamily(r)
	if p.patience == 0 && r.IntN(2) == 0 {
		p.patience = longPatience
	}
	p.each(func(_ int, l *life) {
		l.own = p.story != "" || r.IntN(4) > 0
		if p.story == "" && l.end == "" && r.IntN(2) == 0 {
			l.end, l.at = pick(r, "close", "close", "shutdown"), span(r, timeout)
		}
	})
}

// In a kazoo program all locks are mutexes with WithKazooName, beside processes
// that speak for kazoo.
func dressKazoo(r *rand.Rand, p *plan) {
	p.wantPaths(1 + r.IntN(3))
	p.limits = make([]int64, len(p.paths))
	// kazoo knows no end of the numbers.
	p.without("sequence")
	p.each(func(slot int, l *life) {
		if p.story == "" && slot == len(p.slots)-1 {
			l.kazoo = true
		}
		for _, ops := range l.programs {
			for i := range ops {
				if o := &ops[i]; o.on == "" && o.kind != "sleep" && len(p.paths) > 1 && r.IntN(2) == 0 {
					o.on = "multi"
					for _, i := range r.Perm(len(p.paths))[:min(len(p.paths), 2+r.IntN(mostParts-1))] {
						o.parts = append(o.parts, part{i, asMutex})
					}
				}
			}
		}
	})
}

// inspectedRoot is above all paths of an inspected program, so that one look can
// take in all.
const inspectedRoot = "/q"

func prepareInspected(r *rand.Rand, p *plan) {
	p.wantPaths(2 + r.IntN(2))
	p.handoff = 16
	if r.IntN(4) > 0 {
		p.faults = nil
	}
}

// In an inspected program many owners of a process take turns at a lock, in the
// process as a rule, and a peer looks who has it.
func dressInspected(r *rand.Rand, p *plan) {
	p.limits = make([]int64, len(p.paths))
	for i := range p.paths { // a story may have added some
		p.paths[i] = fmt.Sprintf("%s/l%d", inspectedRoot, i)
	}
	last := len(p.slots) - 1
	p.slots[last] = p.slots[last][:1]
	p.each(func(slot int, l *life) {
		if slot == last {
			l.end = "" // it looks on to the end
			for len(l.programs) < 2 {
				l.programs = append(l.programs, nil)
			}
			for g := range l.programs {
				kind := "inspect"
				if g > 0 {
					kind = "deadlocks"
				}
				l.programs[g] = []op{{kind: kind, work: 2*timeout + span(r, timeout)}}
			}
			return
		}
		for _, ops := range l.programs {
			for i := range ops {
				if o := &ops[i]; o.kind != "sleep" && !o.named {
					p.dressNamed(r, o)
				}
			}
		}
	})
}

// dressNamed makes an op one of an owner.
func (p *plan) dressNamed(r *rand.Rand, o *op) {
	*o = op{kind: pick(r, "lockctx", "lockctx", "lockctx", "lock", "trylock", "hold", "do", "nested", "then"), named: true,
		path: r.IntN(len(p.paths)), on: pick(r, asMutex, asMutex, asMutex, asWriter, asReader),
		wait: timeout/2 + span(r, timeout), work: time.Duration(r.IntN(8)) * 20 * time.Millisecond}
	if r.IntN(3) == 0 {
		o.work = span(r, timeout/2)
	}
	if o.kind == "nested" || o.kind == "then" {
		o.on = asMutex
		o.parts = []part{{(o.path + 1 + r.IntN(len(p.paths)-1)) % len(p.paths), asMutex}}
	}
}

// In a misused program calls of one kind meet a path of another.
func dressMisuse(r *rand.Rand, p *plan) {
	p.dressFamily(r)
	if p.family == "several" {
		p.odd(r)
	}
	p.each(func(_ int, l *life) {
		for _, ops := range l.programs {
			for i := range ops {
				if o := &ops[i]; o.kind != "sleep" && r.IntN(3) == 0 {
					p.misuse(r, o)
				}
			}
		}
	})
}

// A hooked program's tracer is slow, and may close its session.
func dressHooked(r *rand.Rand, p *plan) {
	p.dressFamily(r)
	p.each(func(_ int, l *life) {
		if l.hooks == nil {
			l.hooks = &hooks{slow: time.Duration([]int{0, 1, 5, 15}[r.IntN(4)]) * 20 * time.Millisecond}
			if l.end == "" && r.IntN(3) == 0 {
				l.hooks.closes, l.hooks.nth = pick(r, hookNames...), r.IntN(3)
			}
		}
	})
}
