package sim

import (
	"math/rand/v2"
	"time"
)

// spends has some plans without a story use up a budget of hand-overs. Its numbers are drawn
// apart, so that seeds keep their meaning in all else.
func (p *plan) spends() {
	r := source(p.seed, p.full, 10)
	if p.story != "" || len(p.slots) < 2 || p.limits[0] != 0 || r.IntN(3) > 0 {
		return
	}
	p.story = "the last hand-over"
	lastHandover(r, p)
}

// A session uses up its budget of hand-overs while somebody else waits, and has the lock
// wanted again. Its requests take some time: one lists the line, and the next gives the
// lock away and stands in line again. Its node is deleted by hand meanwhile, the
// connection is lost, or the answer.
func lastHandover(r *rand.Rand, p *plan) {
	p.calm(r)
	p.handoff = 1
	i, j := p.two(r)
	at := 600*time.Millisecond + span(r, timeout/8)
	take := func(after, work time.Duration) []op {
		return []op{sleep(after), {kind: pick(r, "lock", "lockctx"), wait: 4 * timeout, work: work}}
	}
	p.stage(i, take(10*time.Millisecond, at), take(100*time.Millisecond, 0), take(200*time.Millisecond, span(r, timeout/8)))
	p.stage(j, []op{sleep(300 * time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 4 * timeout, work: span(r, timeout/2)}})
	p.later(at+timeout, i, j)
	// A request takes that long to arrive, and as long again until its answer is there.
	ms := 3 * (10 + r.IntN(20)) // of both members: see inflict
	delay := time.Duration(ms) * time.Millisecond
	given := 10*time.Millisecond + at // and perhaps some time for the create
	sent := given + 2*delay + span(r, 2*delay)
	p.faults = append(p.faults, fault{kind: "delay", slot: i, at: given - 50*time.Millisecond, lasts: 50*time.Millisecond + 6*delay, n: ms})
	switch r.IntN(4) {
	case 0:
		p.faults = append(p.faults, fault{kind: "break", at: sent, n: r.IntN(2)})
	case 1:
		p.faults = append(p.faults, fault{kind: pick(r, "disconnect", "away"), slot: i, at: sent, lasts: 20*time.Millisecond + span(r, timeout/4)})
	case 2:
		p.faults = append(p.faults, fault{kind: pick(r, "lose", "lagged loss"), slot: i, at: given, lasts: span(r, timeout/2), n: 2})
	default:
		p.faults = append(p.faults, fault{kind: "expire", slot: i, at: sent})
	}
}
