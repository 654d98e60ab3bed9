package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// elections is the first seed of the programs of elections: the seeds below it keep their
// meaning.
const elections = 2 * newer

var electionKinds = []newerKind{{"elections", prepareElections, electionStories, dressElections}}

func (o op) electText() (text string) {
	if o.again {
		text = ", each time for as long as it may"
	}
	if o.held {
		text += ", cancelled when asked back"
	}
	if o.ours {
		text += ", for the process's owner"
	}
	return text + fmt.Sprintf(", late by %v", o.late)
}

// mostLate is how long a leader may go on when its context has ended.
const mostLate = timeout / 3

func prepareElections(r *rand.Rand, p *plan) { p.family = pick(r, "", "", "readers") }

// In an election program many stand for the elections of a few paths, beside locks of the
// same paths. Some ask leaderships back.
func dressElections(r *rand.Rand, p *plan) {
	p.each(func(_ int, l *life) {
		l.own = l.own || p.story == "" && r.IntN(4) == 0
		for _, ops := range l.programs {
			for i := range ops {
				o := &ops[i]
				switch n := r.IntN(10); {
				case o.kind == "sleep" || o.on != "":
				case n == 0:
					*o = op{kind: "ask back", path: o.path, on: asMutex, wait: timeout}
				case n < 7:
					cut := o.cut
					*o = stand(r, o.path, span(r, 3*timeout), o.work)
					o.cut = cut
				}
			}
		}
	})
	p.dressFamily(r)
}

// stand stands for an election, up to a time. A leader resigns after work, or does not.
func stand(r *rand.Rand, path int, wait, work time.Duration) op {
	o := op{kind: "elect", path: path, on: asMutex, wait: wait, work: work, again: r.IntN(2) == 0, held: r.IntN(2) == 0, ours: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		o.late = span(r, mostLate)
	}
	return o
}

// leads stands for an election, and leads for as long as it may.
func leads(r *rand.Rand, path int, wait time.Duration) op {
	o := stand(r, path, wait, 0)
	o.again = true
	return o
}

var electionStories = []story{
	{"leader cut off", leaderCutOff},
	{"leader asked back", leaderAskedBack},
	{"leader's node deleted", leaderBroken},
}

// A leader is cut off for longer than its session lives, or its session is ended. The next
// one leads, and the first stands again.
func leaderCutOff(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	path, at := r.IntN(len(p.paths)), 100*time.Millisecond+span(r, timeout/4)
	p.stage(i, []op{leads(r, path, at+4*timeout)}, []op{sleep(50 * time.Millisecond), leads(r, path, span(r, 4*timeout))})
	p.stage(j, []op{sleep(50 * time.Millisecond), stand(r, path, 3*timeout, span(r, 2*timeout))})
	p.faults = append(p.faults, fault{kind: pick(r, "cut", "blackhole", "away", "deaf", "expire", "expire"), slot: i,
		at: at, lasts: timeout + 2*tick + span(r, timeout)})
}

// A leadership is asked back again and again. It goes round.
func leaderAskedBack(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	path := r.IntN(len(p.paths))
	for _, slot := range []int{i, j} {
		p.stage(slot, []op{leads(r, path, 4*timeout)}, []op{sleep(span(r, timeout/2)), stand(r, path, 3*timeout, span(r, timeout))})
	}
	back := op{kind: "ask back", path: path, on: asMutex, wait: timeout}
	l := &p.slots[j][0]
	l.programs = append(l.programs, []op{sleep(span(r, timeout/4)), back, back, back})
}

// An operator deletes the nodes of a leader, and perhaps of those who wait.
func leaderBroken(r *rand.Rand, p *plan) {
	p.calm(r)
	i, j := p.two(r)
	path := r.IntN(len(p.paths))
	p.stage(i, []op{leads(r, path, 3*timeout)}, []op{sleep(50 * time.Millisecond), leads(r, path, 4*timeout)})
	p.stage(j, []op{sleep(20 * time.Millisecond), stand(r, path, 3*timeout, span(r, timeout))})
	for range 3 {
		p.faults = append(p.faults, fault{kind: "break", path: path, at: 100*time.Millisecond + span(r, 2*timeout), n: r.IntN(1000)})
	}
}
