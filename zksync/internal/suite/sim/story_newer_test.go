package sim

import (
	"math/rand/v2"
	"time"
)

var adaptedStories = []story{
	{"closed over a create", closedOverCreate},
	{"closed over a create", closedOverCreate},
	{"closed over a delete", closedOverDelete},
	{"closed after a wait", closedAfterWait},
}

// A session is closed while the answer to a create is on its way, or lost. The
// client lives on, and its network heals before its session is over.
func closedOverCreate(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	at := 200*time.Millisecond + span(r, timeout/4)
	ask := func() op {
		return op{kind: pick(r, "hold", "lockctx", "tryhold", "do", "lock"), wait: span(r, timeout/3), work: span(r, timeout/4)}
	}
	p.stage(i, []op{sleep(at + 20*time.Millisecond), ask()}, []op{sleep(at + 50*time.Millisecond), ask()})
	p.stage(j, []op{{kind: "hold", wait: timeout, work: at + span(r, timeout)}})
	p.closes(i, at+60*time.Millisecond+span(r, timeout/3))
	p.faults = append(p.faults, fault{kind: pick(r, "deaf", "mute", "mute", "blackhole", "lose", "away"), slot: i, at: at,
		lasts: outlasts(r, p), n: 12 * r.IntN(50)})
}

// outlasts is how long a fault lasts that its client's session outlives: longer
// than Close as a rule.
func outlasts(r *rand.Rand, p *plan) time.Duration {
	if r.IntN(3) == 0 {
		return 300*time.Millisecond + span(r, timeout/2)
	}
	p.patience = longPatience
	return closeLimit - 800*time.Millisecond + span(r, timeout/2)
}

// A session is closed while a deletion is on its way, or its answer lost.
func closedOverDelete(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	at := 200*time.Millisecond + span(r, timeout/4)
	p.stage(i, []op{{kind: pick(r, "hold", "lockctx", "lock", "do"), wait: timeout, work: at + 20*time.Millisecond}},
		[]op{{kind: pick(r, "hold", "lockctx"), path: r.IntN(len(p.paths)), wait: at + 40*time.Millisecond}})
	p.stage(j, []op{sleep(100 * time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 2 * timeout, work: span(r, timeout)}})
	p.closes(i, at+span(r, timeout/3))
	p.faults = append(p.faults, fault{kind: pick(r, "deaf", "mute", "blackhole", "lose", "away"), slot: i, at: at,
		lasts: outlasts(r, p), n: 12*r.IntN(50) + 9*r.IntN(2)})
}

// Several wait when their session is closed.
func closedAfterWait(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	at := 200*time.Millisecond + span(r, timeout/4)
	wait := func() []op {
		return []op{sleep(100 * time.Millisecond), {kind: pick(r, "hold", "lockctx", "lock", "do"), wait: 20*time.Millisecond + span(r, timeout)}}
	}
	p.stage(j, []op{{kind: "hold", wait: timeout, work: at + span(r, timeout)}})
	p.stage(i, wait(), wait(), wait())
	p.closes(i, at)
	if r.IntN(2) == 0 {
		p.faults = append(p.faults, fault{kind: pick(r, "away", "disconnect", "delay", "mute"), slot: i, at: at - span(r, 100*time.Millisecond),
			lasts: span(r, timeout/2), n: r.IntN(300)})
	}
}

var kazooStories = []story{
	{"a Multi beside kazoo", multiBesideKazoo},
	{"kazoo in between", kazooBetween},
}

// kazoo wants a lock that a Multi has, or waits for, and the other way round.
func multiBesideKazoo(r *rand.Rand, p *plan) {
	p.calm(r)
	p.wantPaths(2)
	i, j := p.two(r)
	both := []part{{0, asMutex}, {1, asMutex}}
	several := func() op {
		return op{kind: pick(r, "hold", "lock", "do", "tryhold", "as"), on: "multi", parts: both, wait: 2 * timeout, work: span(r, timeout/2)}
	}
	p.stage(i, []op{several(), several()}, []op{sleep(span(r, timeout/4)), several()})
	p.stage(j, []op{sleep(span(r, 400*time.Millisecond)), {kind: "hold", path: r.IntN(2), wait: 2 * timeout, work: span(r, timeout/2)}},
		[]op{sleep(span(r, timeout/2)), {kind: "hold", path: r.IntN(2), wait: 2 * timeout, work: span(r, timeout/2)}})
	p.slots[j][0].kazoo = true
	if r.IntN(2) == 0 {
		p.faults = append(p.faults, fault{kind: pick(r, "lose", "lagged loss", "away", "break"), slot: i, path: r.IntN(2),
			at: span(r, timeout/2), lasts: span(r, timeout/4), n: 2 + 4*r.IntN(90)})
	}
}

// kazoo stands between goroutines of one process that hand over.
func kazooBetween(r *rand.Rand, p *plan) {
	p.calm(r)
	p.handoff = 2
	i, j := p.two(r)
	take := func() []op {
		o := op{kind: pick(r, "lock", "lockctx", "hold"), wait: 3 * timeout, work: 20*time.Millisecond + span(r, timeout/8)}
		return []op{o, o, o}
	}
	p.stage(i, take(), take(), take())
	p.stage(j, []op{sleep(50 * time.Millisecond), {kind: "hold", wait: 3 * timeout, work: span(r, timeout/4)}, {kind: "hold", wait: 3 * timeout, work: span(r, timeout/4)}})
	p.slots[j][0].kazoo = true
	if r.IntN(2) == 0 {
		p.faults = append(p.faults, fault{kind: pick(r, "away", "break", "lose", "lag", "expire"), slot: pickInt(r, i, j),
			at: span(r, timeout/2), lasts: span(r, timeout/4), n: r.IntN(1000)})
	}
}

var inspectedStories = []story{
	{"one after the other", oneAfterOther},
	{"a cycle across", cycleAcross},
	{"no cycle any more", noCycle},
}

// named is a lock for an owner.
func named(kind string, path int, wait, work time.Duration) op {
	return op{kind: kind, path: path, on: asMutex, named: true, wait: wait, work: work}
}

// nested takes a second lock while it has the first.
func nested(first, second int, wait, work time.Duration) op {
	return op{kind: "nested", path: first, on: asMutex, named: true, wait: wait, work: work, parts: []part{{second, asMutex}}}
}

// Owners of one process have the lock one after the other, for shorter and longer.
func oneAfterOther(r *rand.Rand, p *plan) {
	p.calm(r)
	p.handoff = 64
	i := r.IntN(len(p.slots) - 1)
	take := func() (ops []op) {
		for range 4 {
			work := time.Duration(r.IntN(10)) * 20 * time.Millisecond
			if r.IntN(3) == 0 {
				work = span(r, timeout/3)
			}
			o := named(pick(r, "lockctx", "lock"), 0, 3*timeout, work)
			if r.IntN(4) == 0 { // gives up
				o.wait = span(r, timeout/6)
			}
			ops = append(ops, o)
		}
		return ops
	}
	p.stage(i, take(), take(), take(), take())
}

// Two owners of two processes wait for each other. One of them has its lock by a
// hand-over, and one has inherited its place from an owner who gave up.
func cycleAcross(r *rand.Rand, p *plan) {
	p.calm(r)
	for len(p.slots) < 3 {
		p.slots = append(p.slots, []life{{programs: [][]op{nil}}})
	}
	last := len(p.slots) - 1
	i := r.IntN(last)
	j := (i + 1 + r.IntN(last-1)) % last
	p.slots[last] = []life{{programs: [][]op{nil, nil}}}
	long := 2*timeout + span(r, timeout)
	p.stage(i, []op{named("lockctx", 0, timeout, 200*time.Millisecond)},
		[]op{sleep(50 * time.Millisecond), nested(0, 1, long, 400*time.Millisecond)})
	other := []op{sleep(100 * time.Millisecond), nested(1, 0, long, 400*time.Millisecond)}
	if r.IntN(2) == 0 {
		p.stage(j, other)
	} else {
		p.stage(j, []op{named("lockctx", 1, timeout, 150*time.Millisecond)}, other)
	}
	p.later(4*timeout, i, j, last)
}

// It would be a cycle if the first owner still had what the node says it has: it
// has handed that over, and waits for one who waits for it.
func noCycle(r *rand.Rand, p *plan) {
	p.calm(r)
	for len(p.slots) < 3 {
		p.slots = append(p.slots, []life{{programs: [][]op{nil}}})
	}
	last := len(p.slots) - 1
	i := r.IntN(last)
	j := (i + 1 + r.IntN(last-1)) % last
	p.slots[last] = []life{{programs: [][]op{nil, nil}}}
	long := 2*timeout + span(r, timeout)
	first := nested(0, 1, long, 300*time.Millisecond)
	first.kind = "then"
	p.stage(i, []op{first}, []op{sleep(50 * time.Millisecond), named("lockctx", 0, timeout, long)})
	p.stage(j, []op{nested(1, 0, long, 100*time.Millisecond)})
	p.later(4*timeout, i, j, last)
}

var misuseStories = []story{
	{"no permits of a lock", zeroOfLock},
	{"entered after a deletion", enteredDeleted},
	{"asked back", askedBack},
}

// Somebody wants no permits at all of what is a lock, while it is held.
func zeroOfLock(r *rand.Rand, p *plan) {
	p.calm(r)
	p.family = pick(r, "", "readers", "several")
	p.wantPaths(2)
	i, j := p.two(r)
	lock := op{kind: pick(r, "hold", "lock", "lockctx"), wait: timeout, work: 300*time.Millisecond + span(r, timeout/4)}
	p.stage(j, []op{lock})
	p.stage(i, []op{sleep(20 * time.Millisecond), lock, lock},
		[]op{sleep(100 * time.Millisecond), {kind: "zero", on: asPermit, wait: span(r, timeout/2)}, {kind: "zero", on: asPermit, wait: span(r, timeout)}},
		[]op{sleep(120 * time.Millisecond), lock})
}

// An operator deletes the node of a plain lock, another session gets it, and the
// owner enters again.
func enteredDeleted(r *rand.Rand, p *plan) {
	p.calm(r)
	p.family = pick(r, "", "readers")
	i, j := p.two(r)
	p.stage(i, []op{{kind: "reenter", on: asMutex, wait: timeout, work: 100*time.Millisecond + span(r, timeout/4), again: r.IntN(2) == 0}})
	p.stage(j, []op{sleep(50 * time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 2 * timeout, work: timeout + span(r, timeout)}})
	p.later(timeout, i, j)
}

// A Hold is asked back, and its owner enters again.
func askedBack(r *rand.Rand, p *plan) {
	p.calm(r)
	p.family = pick(r, "", "readers")
	i, j := p.two(r)
	p.stage(i, []op{{kind: "revoke", on: asMutex, wait: timeout, work: span(r, timeout/4), again: r.IntN(2) == 0}})
	p.stage(j, []op{sleep(50 * time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 2 * timeout, work: span(r, timeout)}})
}

var hookedStories = []story{
	{"many lost at once", manyLost},
	{"closed by its tracer", closedByTracer},
}

// A process has many Holds when it is cut off, and its tracer takes its time over
// the end of each.
func manyLost(r *rand.Rand, p *plan) {
	p.faults, p.family = nil, pick(r, "", "readers")
	const holds = 8
	p.wantPaths(holds)
	i := r.IntN(len(p.slots))
	var all [][]op
	for n := range holds {
		all = append(all, []op{{kind: pick(r, "hold", "do"), path: n, on: asMutex, wait: timeout, work: 2*timeout + span(r, timeout)}})
	}
	p.stage(i, all...)
	p.later(timeout, i)
	p.slots[i][0].hooks = &hooks{slow: 100*time.Millisecond + span(r, 250*time.Millisecond)}
	p.faults = append(p.faults, fault{kind: pick(r, "cut", "blackhole", "deaf", "mute", "away"), slot: i, at: 3*timeout/2 + span(r, timeout/4), lasts: 2 * timeout})
}

// The tracer closes the session when it hears of its end, or of something else.
func closedByTracer(r *rand.Rand, p *plan) {
	p.calm(r)
	i := r.IntN(len(p.slots))
	p.stage(i, []op{{kind: pick(r, "hold", "lock", "do"), path: r.IntN(len(p.paths)), wait: timeout, work: span(r, timeout)}},
		[]op{sleep(span(r, timeout/4)), {kind: pick(r, "hold", "lockctx", "do"), path: r.IntN(len(p.paths)), wait: timeout, work: span(r, timeout)}})
	p.slots[i][0].hooks = &hooks{closes: pick(r, append([]string{"Session", "Session", "Session"}, hookNames...)...), nth: 1}
	p.faults = append(p.faults, fault{kind: pick(r, "disconnect", "away", "expire", "cut"), slot: i, at: span(r, timeout), lasts: span(r, 2*timeout), n: 3})
}

func pickInt(r *rand.Rand, from ...int) int { return from[r.IntN(len(from))] }
