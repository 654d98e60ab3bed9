package sim

import (
	"math/rand/v2"
	"time"
)

// The stories of each family, beside those for all.
var familyStories = map[string][]story{
	"readers": {
		{"downgrade before others", downgradeBefore},
		{"readers who are lost", lostReaders},
		{"readers join", readersJoin},
	},
	"permits": {
		{"any holder's end", anyEnd},
		{"a crowd that fits", crowdFits},
		{"parts given back", partsBack},
	},
	"several": {
		{"crossing", crossing},
		{"half broken", halfBroken},
		{"lost transaction", lostTransaction},
	},
}

// Somebody who writes goes on to read while others stand in line, some of its own
// session.
func downgradeBefore(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	next := func() op {
		return op{kind: pick(r, "hold", "lock", "lockctx", "tryhold"), on: pick(r, asWriter, asWriter, asReader, asMutex),
			wait: 3 * timeout, work: span(r, timeout/4)}
	}
	p.stage(i, []op{{kind: "downgrade", on: asWriter, wait: timeout, work: time.Second + span(r, timeout/2),
		held: r.IntN(2) == 0, again: r.IntN(4) == 0}},
		[]op{sleep(300 * time.Millisecond), next()})
	p.stage(j, []op{sleep(200 * time.Millisecond), next()}, []op{sleep(250 * time.Millisecond), next()})
	if r.IntN(3) == 0 {
		p.faults = append(p.faults, fault{kind: pick(r, "away", "lose", "break", "cut"), slot: i,
			at: 400*time.Millisecond + span(r, time.Second), lasts: span(r, timeout), n: r.IntN(1000)})
	}
}

// A session ends while its goroutines read, with an owner and without. Some have
// got the lock again before the others give theirs back.
func lostReaders(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	at := 200*time.Millisecond + span(r, timeout/4)
	read := func(kind string, work time.Duration) op {
		return op{kind: kind, on: asReader, wait: timeout, work: work}
	}
	p.stage(i, []op{read(pick(r, "as", "as", "lock"), at+time.Second+span(r, timeout/4))},
		[]op{read(pick(r, "as", "lock", "hold"), at+time.Second+span(r, timeout/4))},
		[]op{sleep(at + 300*time.Millisecond), read(pick(r, "lock", "lockctx", "as"), span(r, timeout/4))})
	p.stage(j, []op{sleep(at + time.Duration(1+r.IntN(4))*200*time.Millisecond), {kind: "hold", on: asWriter, wait: 3 * timeout, work: span(r, timeout/4)}})
	p.faults = append(p.faults, fault{kind: pick(r, "expire", "expire", "break"), slot: i, at: at, n: 1})
}

// Readers of one session share a node, which is deleted by hand while the
// connection is away; others join them.
func readersJoin(r *rand.Rand, p *plan) {
	p.calm(r)
	p.handoff = 2 + r.IntN(2)*14
	i, j := p.two(r)
	at := 300*time.Millisecond + span(r, timeout/4)
	read := func(d time.Duration) []op {
		return []op{sleep(d), {kind: pick(r, "lock", "lockctx"), on: asReader, wait: 2 * timeout, work: span(r, timeout)}}
	}
	p.stage(i, read(100*time.Millisecond), read(200*time.Millisecond), read(at+span(r, timeout/4)), read(at+span(r, timeout/2)))
	p.stage(j, []op{sleep(at - 50*time.Millisecond), {kind: pick(r, "hold", "lock"), on: pick(r, asWriter, asMutex), wait: 3 * timeout, work: span(r, timeout)}})
	p.faults = append(p.faults,
		fault{kind: "away", slot: i, at: at, lasts: 50*time.Millisecond + span(r, timeout/6)},
		fault{kind: "break", slot: i, at: at + 20*time.Millisecond, n: r.IntN(2)})
}

// A lock's path is deleted with the node of a reader who has just listed it, before the
// reader's next request arrives, and made anew. Somebody else who writes gets the number
// before the one that the reader expects next, and then the reader comes back.
func madeAnewAfterList(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	use := func(work time.Duration) op {
		return op{kind: pick(r, "lock", "lockctx", "hold", "do"), on: asReader, wait: 4 * timeout, work: work}
	}
	// A request takes that long to arrive, and as long again until its answer is there.
	ms := 3 * (20 + r.IntN(30)) // of both members: see inflict
	delay := time.Duration(ms) * time.Millisecond
	at := 300 * time.Millisecond
	listed := 20*time.Millisecond + 2*delay // after at: the answer is there, and the next request is not
	back := timeout/2 + span(r, timeout/6)
	p.stage(i, []op{use(10 * time.Millisecond), sleep(at), use(10 * time.Millisecond), sleep(back), use(timeout)})
	p.stage(j, []op{sleep(at + listed + 100*time.Millisecond), {kind: pick(r, "hold", "lock"), on: asWriter, wait: 3 * timeout, work: 2 * timeout}})
	p.later(at+timeout, i, j)
	p.faults = append(p.faults,
		fault{kind: "delay", slot: i, at: at - 50*time.Millisecond, lasts: 50*time.Millisecond + 4*delay, n: ms},
		fault{kind: "replace", at: at + listed})
}

// Somebody waits for permits that any of several holders may give back. The one
// that came last keeps its own.
func anyEnd(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	p.fixedLimit = 3
	hold := func(d, work time.Duration, n int64) []op {
		return []op{sleep(d), {kind: pick(r, "hold", "lock"), on: asPermit, weight: n, wait: 6 * timeout, work: work}}
	}
	long := 3*timeout + span(r, timeout)
	p.stage(i, hold(100*time.Millisecond, timeout/2+span(r, timeout/2), 1+r.Int64N(2)), hold(200*time.Millisecond, long, 1))
	p.stage(j, hold(400*time.Millisecond, span(r, timeout), 1+r.Int64N(2)))
	p.later(4*timeout, i, j)
}

// Several wait for permits behind a large one, and get them at the same time.
// Some keep them for long.
func crowdFits(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	p.fixedLimit = 4
	at := span(r, timeout/2)
	small := func(d time.Duration) []op {
		return []op{sleep(d + span(r, 300*time.Millisecond)), {kind: pick(r, "hold", "lock", "parts"), on: asPermit, weight: 1 + r.Int64N(2),
			wait: 6 * timeout, work: 3*timeout + span(r, timeout)}}
	}
	p.stage(i, []op{{kind: "hold", on: asPermit, weight: 4, wait: timeout, work: at + time.Second}}, small(500*time.Millisecond))
	p.stage(j, small(500*time.Millisecond), small(500*time.Millisecond))
	p.later(4*timeout, i, j)
	if r.IntN(3) > 0 {
		kind := pick(r, "disconnect", "away", "lost touch", "lost touch", "lost touch")
		for _, slot := range []int{i, j} {
			p.faults = append(p.faults, fault{kind: kind, slot: slot, at: at + time.Second - 20*time.Millisecond,
				lasts: span(r, timeout/3), n: r.IntN(1000)})
		}
	}
}

// Permits are given back bit by bit while answers get lost, and others wait for
// them.
func partsBack(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	p.fixedLimit = 4
	parts := func(d time.Duration) []op {
		return []op{sleep(d), {kind: "parts", on: asPermit, weight: 2 + r.Int64N(3), wait: 4 * timeout, work: span(r, timeout)}}
	}
	p.stage(i, parts(0), parts(50*time.Millisecond), parts(100*time.Millisecond))
	p.stage(j, parts(60*time.Millisecond), []op{sleep(150 * time.Millisecond),
		{kind: "hold", on: asPermit, weight: 1 + r.Int64N(4), wait: 5 * timeout, work: span(r, timeout)}})
	for range 2 {
		p.faults = append(p.faults, fault{kind: pick(r, "lose", "lose", "away", "disconnect", "break", "cut"), slot: i,
			at: 100*time.Millisecond + span(r, timeout), lasts: span(r, timeout), n: 2 + 4*r.IntN(200)}) // lose: a transaction
	}
}

// Several take two locks each, in one order and the other.
func crossing(r *rand.Rand, p *plan) {
	p.calm(r)
	p.wantPaths(3)
	for i := range p.slots {
		var all [][]op
		for range 2 {
			one, two := r.IntN(3), 0
			two = (one + 1 + r.IntN(2)) % 3
			o := op{kind: pick(r, "lock", "hold", "do"), on: "multi", wait: 4 * timeout, work: time.Duration(r.IntN(4)) * 20 * time.Millisecond,
				parts: []part{{one, pick(r, asMutex, asWriter)}, {two, pick(r, asMutex, asWriter, asReader)}}}
			if r.IntN(4) == 0 {
				o.on, o.parts, o.path = asMutex, nil, one
			}
			all = append(all, []op{o, o})
		}
		p.stage(i, all...)
	}
}

// One of the nodes of a Multi is deleted by hand, perhaps while its session is
// away; others wait for each of its locks.
func halfBroken(r *rand.Rand, p *plan) {
	p.calm(r)
	p.wantPaths(2)
	i, j := p.two(r)
	at := 300*time.Millisecond + span(r, timeout/4)
	p.stage(i, []op{{kind: pick(r, "hold", "hold", "lock", "as"), on: "multi", wait: timeout, work: at + timeout + span(r, timeout),
		parts: []part{{1, asMutex}, {0, asWriter}}, again: true}})
	p.stage(j, []op{sleep(100 * time.Millisecond), {kind: pick(r, "hold", "lock"), path: r.IntN(2), on: asReader, wait: 3 * timeout,
		work: span(r, timeout)}},
		[]op{sleep(120 * time.Millisecond), {kind: pick(r, "hold", "lock"), on: "multi", wait: 3 * timeout, work: span(r, timeout),
			parts: []part{{0, asMutex}, {1, asMutex}}}})
	if r.IntN(2) == 0 {
		p.faults = append(p.faults, fault{kind: "away", slot: i, at: at - 20*time.Millisecond, lasts: span(r, timeout/3)})
	}
	p.faults = append(p.faults, fault{kind: "break", slot: i, path: r.IntN(2), at: at, n: r.IntN(1000)})
}

// The answer to the transaction that makes or deletes the nodes of a Multi is
// lost.
func lostTransaction(r *rand.Rand, p *plan) {
	p.calm(r)
	p.wantPaths(2)
	i, j := p.two(r)
	at := span(r, timeout/4)
	several := func() op {
		return op{kind: pick(r, "hold", "lock", "do", "tryhold"), on: "multi", wait: 2 * timeout, work: span(r, timeout/2),
			parts: []part{{1, asMutex}, {0, pick(r, asMutex, asReader)}}}
	}
	p.stage(i, []op{sleep(at + 50*time.Millisecond), several(), several()})
	p.stage(j, []op{sleep(at + span(r, time.Second)), several()})
	p.faults = append(p.faults,
		fault{kind: pick(r, "lagged loss", "lose"), slot: i, at: at, lasts: span(r, timeout), n: 4*r.IntN(9) + 2},
		fault{kind: "lose", slot: i, at: at + span(r, timeout), n: 4*r.IntN(9) + 2})
	if r.IntN(2) == 0 { // and one of them is deleted while they are looked for
		p.latency = 20 * time.Millisecond
		p.faults = append(p.faults, fault{kind: "break", at: at + 100*time.Millisecond + span(r, 200*time.Millisecond), n: 1})
	}
}
