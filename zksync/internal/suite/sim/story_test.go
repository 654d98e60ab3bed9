package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// story bends a plan towards a danger that chance seldom brings about: somebody
// in the right place, and faults at the right moment. What it leaves alone of
// the plan goes on around it.
type story struct {
	name string
	tell func(r *rand.Rand, p *plan)
}

var stories = []story{
	{"lost create", lostCreate},
	{"cut off", cutOff},
	{"broken while away", brokenWhileAway},
	{"broken under a hand-over", brokenUnderHandoff},
	{"hung client", hungClient},
	{"unheard end", unheardEnd},
	{"at the same moment", sameMoment},
	{"impatient", impatient},
}

// stage gives the goroutines of a place what they do first. It is one process,
// to the end; its other goroutines come in later.
func (p *plan) stage(slot int, first ...[]op) {
	l := &p.slots[slot][0]
	p.slots[slot] = p.slots[slot][:1]
	l.end = ""
	for len(l.programs) < len(first) {
		l.programs = append(l.programs, nil)
	}
	for g := range l.programs {
		lead := []op{{kind: "sleep", work: timeout}}
		if g < len(first) {
			lead = first[g]
		}
		l.programs[g] = append(lead, l.programs[g]...)
	}
}

// two picks two places.
func (p *plan) two(r *rand.Rand) (a, b int) {
	a = r.IntN(len(p.slots))
	return a, (a + 1 + r.IntN(len(p.slots)-1)) % len(p.slots)
}

// calm takes the other faults out, most of the time.
func (p *plan) calm(r *rand.Rand) {
	if r.IntN(4) > 0 {
		p.faults = nil
	}
}

// wantPaths sees to it that there are that many locks.
func (p *plan) wantPaths(n int) {
	for len(p.paths) < n {
		p.paths = append(p.paths, "/l"+string(rune('0'+len(p.paths))))
	}
}

// later keeps everybody but those in the places given away for some time.
func (p *plan) later(d time.Duration, but ...int) {
	for i := range p.slots {
		if !slices.Contains(but, i) {
			for g, ops := range p.slots[i][0].programs {
				p.slots[i][0].programs[g] = append([]op{sleep(d)}, ops...)
			}
		}
	}
}

func sleep(d time.Duration) op { return op{kind: "sleep", work: d} }

// The answer to a create is lost, and the other server does not know of the
// node yet.
func lostCreate(r *rand.Rand, p *plan) {
	p.calm(r)
	i := r.IntN(len(p.slots))
	at := span(r, timeout/4)
	p.stage(i, []op{sleep(at + 50*time.Millisecond), {kind: pick(r, "hold", "lock", "do"), wait: 2 * timeout, work: span(r, timeout)}})
	p.faults = append(p.faults, fault{kind: "lagged loss", slot: i, at: at, lasts: span(r, timeout)})
}

// Somebody who holds is cut off for longer than its session lives, and wants to
// enter again before that is over.
func cutOff(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	path, at := r.IntN(len(p.paths)), span(r, timeout/4)
	p.stage(i, []op{{kind: pick(r, "as", "as", "hold", "hold", "lock"), path: path, wait: timeout,
		work: at + timeout + tick + span(r, tick), again: true}})
	p.stage(j, []op{sleep(200 * time.Millisecond), {kind: pick(r, "hold", "lock"), path: path, wait: 3 * timeout, work: span(r, timeout)}})
	p.faults = append(p.faults, fault{kind: pick(r, "cut", "cut", "blackhole", "away", "deaf"), slot: i,
		at: at, lasts: timeout + 2*tick + span(r, timeout)})
}

// All nodes of a lock are deleted by hand while a waiter is away for less than
// its session lives. It has other things to ask for when it is back.
func brokenWhileAway(r *rand.Rand, p *plan) {
	p.calm(r)
	p.wantPaths(4)
	i, j := p.two(r)
	p.stage(j, []op{{kind: pick(r, "hold", "lock"), wait: timeout, work: 2*timeout + span(r, timeout)}})
	p.stage(i, []op{sleep(200 * time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 4 * timeout, work: span(r, timeout/2)}},
		[]op{sleep(2 * timeout / 3), {kind: "lock", path: 1}},
		[]op{sleep(2 * timeout / 3), {kind: "hold", path: 2, wait: timeout, work: timeout}},
		[]op{sleep(2 * timeout / 3), {kind: "lock", path: 3}})
	p.later(2*timeout, i, j)
	p.latency = time.Duration(1+r.IntN(20)) * time.Millisecond
	at := 300*time.Millisecond + span(r, timeout/4)
	p.faults = append(p.faults,
		fault{kind: "away", slot: i, at: at, lasts: 100*time.Millisecond + span(r, timeout/2)},
		fault{kind: "break", slot: i, at: at + 10*time.Millisecond, n: 1})
}

// A plain lock's node is deleted by hand while the holder's connection is away.
// It gives the lock back later, when another goroutine waits for it, and the
// session lives: there are other locks.
func brokenUnderHandoff(r *rand.Rand, p *plan) {
	p.calm(r)
	p.wantPaths(2)
	p.handoff = 2
	i, j := p.two(r)
	at := 300*time.Millisecond + span(r, timeout/4)
	p.stage(i, []op{{kind: pick(r, "lock", "lockctx"), wait: timeout, work: at + timeout + span(r, timeout)}},
		[]op{sleep(100 * time.Millisecond), {kind: pick(r, "lock", "lockctx"), wait: 4 * timeout, work: span(r, timeout/2)}},
		[]op{{kind: "hold", path: 1, wait: timeout, work: 4 * timeout}})
	p.stage(j, []op{sleep(200 * time.Millisecond), {kind: "hold", wait: 4 * timeout, work: span(r, timeout)}})
	p.faults = append(p.faults,
		fault{kind: "away", slot: i, at: at, lasts: 50*time.Millisecond + span(r, timeout/6)},
		fault{kind: "break", slot: i, at: at + 20*time.Millisecond, n: 1})
}

// The answer to a create is lost, and then the client hangs, until it is
// replaced by one with a session of its own. The servers elect leaders
// meanwhile, which gives the old session, and its node, another timeout each
// time.
func hungClient(r *rand.Rand, p *plan) {
	p.faults = nil
	i := r.IntN(len(p.slots))
	at := span(r, timeout/4)
	p.stage(i, []op{sleep(at + 50*time.Millisecond), {kind: pick(r, "hold", "lock", "do"), wait: 8 * timeout, work: 2 * timeout}})
	p.faults = append(p.faults,
		fault{kind: "lose", slot: i, at: at},
		fault{kind: "hang", slot: i, at: at, lasts: 4*timeout + span(r, timeout)})
	for n := range 4 {
		p.faults = append(p.faults, fault{kind: "restart", at: at + time.Duration(n+1)*(2*timeout/3)})
	}
}

// A session is ended while its servers lag: the connection stands, and the news
// comes with the first answer to a write.
func unheardEnd(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	at := span(r, timeout/4)
	p.stage(i, []op{{kind: pick(r, "lock", "hold", "as"), wait: timeout, work: at + span(r, timeout/2), again: true}},
		[]op{sleep(at), {kind: pick(r, "lock", "lockctx", "tryhold", "hold"), path: r.IntN(len(p.paths)), wait: timeout, work: span(r, timeout/2)}},
		[]op{sleep(at + span(r, timeout/2)), {kind: pick(r, "lock", "trylock", "do"), path: r.IntN(len(p.paths)), wait: timeout}})
	p.stage(j, []op{sleep(100 * time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 2 * timeout, work: span(r, timeout/2)}})
	p.faults = append(p.faults,
		fault{kind: "lag", slot: i, at: at, lasts: timeout},
		fault{kind: "expire", slot: i, at: at + span(r, timeout/4)})
}

// Calls are cancelled at the moment in which the lock comes to them.
func sameMoment(r *rand.Rand, p *plan) {
	p.calm(r)
	p.handoff = 16
	i := r.IntN(len(p.slots))
	wait := func() []op {
		return []op{sleep(20 * time.Millisecond), {kind: pick(r, "lockctx", "lockctx", "hold", "do"), wait: timeout,
			work: 20 * time.Millisecond, cut: true}}
	}
	p.stage(i, []op{{kind: pick(r, "lock", "hold"), wait: timeout, work: 100 * time.Millisecond}}, wait(), wait(), wait())
}

// A session is cut off, or ends, while it keeps a lock that it does not hold. Somebody
// else gets it, and then the first wants it again.
func lingersOn(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	at := 200*time.Millisecond + span(r, timeout/4)
	keeps := op{kind: pick(r, "lock", "lockctx"), wait: timeout, linger: 4 * timeout}
	again := keeps
	again.wait = 4 * timeout
	p.stage(i, []op{keeps, sleep(at + span(r, 2*timeout)), again, again})
	p.stage(j, []op{sleep(at + 50*time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 3 * timeout, work: 2 * timeout}})
	p.later(at, i, j)
	p.faults = append(p.faults, fault{kind: pick(r, "expire", "blackhole", "away", "deaf"), slot: i, at: at, lasts: timeout + 2*tick})
}

// A call that does not want to wait gives up before it has an answer; behind it
// stands one that does.
func impatient(r *rand.Rand, p *plan) {
	p.faults = nil
	i, j := p.two(r)
	p.stage(j, []op{{kind: pick(r, "hold", "lock"), wait: timeout, work: timeout}})
	p.stage(i, []op{sleep(300 * time.Millisecond), {kind: "tryhold", wait: 20*time.Millisecond + span(r, 150*time.Millisecond), work: 20 * time.Millisecond}},
		[]op{sleep(310 * time.Millisecond), {kind: pick(r, "hold", "do"), wait: 2 * timeout, work: 20 * time.Millisecond}})
	p.faults = append(p.faults, fault{kind: "delay", slot: i, at: 250 * time.Millisecond, lasts: timeout, n: 3 * (34 + r.IntN(65))})
}

// A lock's path is deleted and made anew, and counts up to where it was. Somebody else
// gets the number before the one that is due, and then the one who knows the path comes
// back, perhaps after a disconnect.
func madeAnew(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	var uses []op
	for range 1 + r.IntN(4) {
		uses = append(uses, op{kind: pick(r, "lock", "lockctx", "hold", "do"), wait: timeout, work: 10 * time.Millisecond}, sleep(30*time.Millisecond))
	}
	at := 300 * time.Millisecond * time.Duration(1+len(uses)/2)
	uses = append(uses, sleep(at), op{kind: pick(r, "lock", "hold", "do"), wait: 4 * timeout, work: timeout})
	p.stage(i, uses)
	p.stage(j, []op{sleep(at + 40*time.Millisecond), {kind: pick(r, "hold", "lock"), wait: 3 * timeout, work: 2 * timeout}})
	p.later(at+timeout, i, j)
	p.faults = append(p.faults, fault{kind: "remake", at: at, lasts: timeout / 10, n: 1 + r.IntN(8)/7})
	if r.IntN(2) == 0 {
		p.faults = append(p.faults, fault{kind: "disconnect", slot: i, at: at - 20*time.Millisecond})
	}
}
