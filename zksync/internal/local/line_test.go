package local

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// steps plays a random event; calm: nobody comes or gives up, and nothing breaks.
func (w *world) step(r *rand.Rand, permits, calm bool) {
	l := w.line
	w.event++
	switch n := r.IntN(12); {
	case n == 0 && !calm:
		want := Want{Kind: Kind(1 + r.IntN(3)), Handoff: r.IntN(4), Handle: r.IntN(4) == 0, Try: r.IntN(6) == 0, Within: r.IntN(16) == 0}
		if permits {
			want.Kind, want.Weight, want.Limit = Permit, r.Int64N(worldLimit+1), worldLimit
			if want.Weight == 0 {
				want.Handle, want.Try = false, false
			}
			want.Within = false
		}
		if want.Owner = owners[r.IntN(len(owners))]; permits {
			want.Owner = ""
		}
		w.take(newCall(want))
	case n == 1 && !calm: // a call gives up
		if len(w.calls) > 0 {
			c := w.calls[len(w.calls)-1-r.IntN(min(5, len(w.calls)))]
			waits := c.group != nil
			w.quit(c)
			if waits {
				w.calls = slices.DeleteFunc(w.calls, func(o *Call) bool { return o == c })
			}
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
	case n == 5 && !calm && r.IntN(8) == 0: // somebody is refused
		for i := range w.nodes {
			if t := w.ours(i); t != nil && t.moving && !t.renewed {
				w.refused(t)
				break
			}
		}
	case n == 6 && len(w.leaving) > 0: // a deletion gets through
		t := w.leaving[0]
		w.leaving = w.leaving[1:]
		w.nodes = slices.DeleteFunc(w.nodes, func(n *node) bool { return n.ticket == t })
	case n == 7 && len(w.renewing) > 0:
		w.renewal(w.renewing[r.IntN(len(w.renewing))], r.IntN(8) > 0)
	case n == 9 && len(w.coming) > 0:
		w.arrives(w.coming[r.IntN(len(w.coming))])
	case n == 11: // a call returns with what it was granted
		if h := w.unaccepted(); h != nil {
			w.accept(h)
		}
	case n == 10 && !calm && r.IntN(8) == 0:
		w.forbids(owners[r.IntN(len(owners))])
	case n == 8:
		for i := range w.nodes {
			if w.comesTo(i) {
				w.turned(w.ours(i))
				break
			}
		}
	}
}

const programs = 100000

var owners = []string{"", "", "", "a", "b"}

// play plays the program of a seed, and says what was wrong. With states it notes
// what it came to after each event.
func play(seed uint64, states *[]string) (w *world, bad string) {
	r := rand.New(rand.NewPCG(seed, 1))
	w = newWorld(r.IntN)
	permits := seed%2 == 1
	for i := 0; i < 150 || !w.idle(); i++ { // at first; then nobody new comes, and all get it and give it back
		before := ""
		if states != nil {
			before = w.String()
		}
		w.step(r, permits, i >= 150)
		if states != nil && w.String() != before {
			*states = append(*states, fmt.Sprint(i, ": ", w))
		}
		if w.check(); w.bad != "" {
			return w, w.bad
		}
		if i > 20000 {
			return w, "stuck"
		}
	}
	for _, c := range w.calls {
		if w.answered[c] != 1 {
			return w, fmt.Sprintf("a call was answered %d times", w.answered[c])
		}
	}
	return w, ""
}

// Random programs are played against what the line promises.
func TestLine(t *testing.T) {
	total, handed := 0, 0
	for seed := range uint64(programs) {
		w, bad := play(seed, nil)
		if bad != "" {
			var states []string
			play(seed, &states)
			t.Fatalf("seed %d: %s\n%s", seed, bad, strings.Join(states[max(0, len(states)-12):], "\n"))
		}
		total += len(w.calls)
		handed += w.handed
	}
	t.Log(total, "calls,", handed, "by a renewal")
}
