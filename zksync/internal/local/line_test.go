package local

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// steps plays a random event; calm: nobody comes or gives up, and nothing breaks.
func (w *world) step(r *rand.Rand, permits, calm bool) {
	l := w.line
	switch n := r.IntN(9); {
	case n == 0 && !calm:
		want := Want{Kind: Kind(1 + r.IntN(3)), Handoff: r.IntN(4), Handle: r.IntN(4) == 0, Try: r.IntN(6) == 0}
		if permits {
			want.Kind, want.Weight = Permit, r.Int64N(worldLimit+1)
			if want.Weight == 0 {
				want.Handle, want.Try = false, false
			}
		}
		w.take(NewCall(want))
	case n == 1 && !calm: // a call gives up
		waiting := slices.DeleteFunc(slices.Clone(w.calls), func(c *Call) bool { return c.group == nil })
		if len(waiting) > 0 {
			c := waiting[r.IntN(len(waiting))]
			w.quit(c)
			w.calls = slices.DeleteFunc(w.calls, func(o *Call) bool { return o == c })
		}
	case n == 2 && l.held.Len() > 0: // a level or a handle is given back
		at := r.IntN(l.held.Len())
		e := l.held.Front()
		for range at {
			e = e.Next()
		}
		w.giveBack(e.Value.(*Holder))
	case n == 3 && !calm: // somebody else comes
		o := &node{kind: Kind(1 + r.IntN(3))}
		if permits {
			o.kind, o.weight = Permit, 1+r.Int64N(worldLimit)
		}
		w.nodes = append(w.nodes, o)
	case n == 4: // somebody else goes
		if i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.ticket == nil }); i >= 0 {
			w.nodes = slices.Delete(w.nodes, i, i+1)
		}
	case n == 5 && !calm && len(w.nodes) > 0 && r.IntN(4) == 0:
		if n := w.nodes[r.IntN(len(w.nodes))]; n.ticket != nil {
			w.broken(n, r.IntN(2) == 0)
		}
	case n == 6 && len(w.leaving) > 0: // a deletion gets through
		t := w.leaving[0]
		w.leaving = w.leaving[1:]
		w.nodes = slices.DeleteFunc(w.nodes, func(n *node) bool { return n.ticket == t })
	case n == 7 && len(w.renewing) > 0:
		w.renewal(w.renewing[r.IntN(len(w.renewing))], r.IntN(8) > 0)
	case n == 8:
		for i := range w.nodes {
			if w.comesTo(i) {
				w.turn(w.mine(i))
				break
			}
		}
	}
}

const programs = 20000

// Random programs are played against what the line promises.
func TestLine(t *testing.T) {
	total, handed := 0, 0
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(r.IntN)
		permits := seed%2 == 1
		for range 150 {
			w.step(r, permits, false)
			if w.check(); w.bad != "" {
				t.Fatalf("seed %d: %s", seed, w.bad)
			}
		}
		for i := 0; !w.idle(); i++ { // nobody new: all get it and give it back
			w.step(r, permits, true)
			if w.check(); w.bad != "" {
				t.Fatalf("seed %d, calm: %s", seed, w.bad)
			}
			if i > 20000 {
				t.Fatalf("seed %d: stuck: %d hold, %d move, %d leave, %d renewed, %d nodes", seed,
					w.held.Len(), w.moving, len(w.leaving), len(w.renewing), len(w.nodes))
			}
		}
		for _, c := range w.calls {
			if w.answered[c] != 1 {
				t.Fatalf("seed %d: a call was answered %d times", seed, w.answered[c])
			}
		}
		total += len(w.calls)
		handed += w.handed
	}
	t.Log(total, "calls,", handed, "by a renewal")
}
