package local

import (
	"container/list"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/race"
)

// Small worlds are explored to the end: every order of all that can happen to three
// calls, until no state appears that was not seen before.

// limits bound what happens to a world that is explored.
type bounds struct{ foreign, losses, failures int }

// explorer is a world whose chances are all taken.
type explorer struct {
	*world
	wants []Want // of the calls that are still to come
	left  bounds
}

// script answers what is a matter of chance: first what it says, then 0, noting
// that there was more to ask.
type script struct {
	says []int
	at   int
	more []int // number of answers to what was asked beyond says
}

func (s *script) choose(n int) int {
	defer func() { s.at++ }()
	if s.at < len(s.says) {
		return s.says[s.at]
	}
	s.more = append(s.more, n)
	return 0
}

// event is something that can happen.
type event func(x *explorer)

// events are what can happen next.
func (x *explorer) events() (all []event) {
	if len(x.wants) > 0 {
		all = append(all, func(x *explorer) {
			want := x.wants[0]
			x.wants = x.wants[1:]
			x.take(newCall(want))
		})
	}
	for i, c := range x.calls {
		if c.group != nil {
			all = append(all, func(x *explorer) {
				c := x.calls[i]
				x.quit(c)
				x.calls = slices.Delete(slices.Clone(x.calls), i, i+1)
			})
		}
	}
	for i := range x.line.held.Len() {
		all = append(all, func(x *explorer) { x.giveBack(x.holderAt(i)) })
	}
	if x.unaccepted() != nil {
		all = append(all, func(x *explorer) { x.accept(x.unaccepted()) })
	}
	if x.left.foreign > 0 {
		kinds := []node{{kind: Exclusive}, {kind: Read}}
		if x.permits() {
			kinds = []node{{kind: Permit, weight: 1}, {kind: Permit, weight: worldLimit}}
		}
		for _, n := range kinds {
			all = append(all, func(x *explorer) {
				x.left.foreign--
				x.nodes = append(x.nodes, &node{kind: n.kind, weight: n.weight})
			})
		}
	}
	for i, n := range x.nodes {
		switch {
		case n.ticket == nil:
			all = append(all, func(x *explorer) { x.nodes = slices.Delete(x.nodes, i, i+1) })
		case x.left.losses > 0:
			for _, told := range []bool{false, true} {
				all = append(all, func(x *explorer) { x.left.losses--; x.broken(x.nodes[i], told) })
			}
		}
		if t := n.ticket; x.left.failures > 0 && t != nil && t.moving && !t.renewed {
			all = append(all, func(x *explorer) { x.left.failures--; x.refused(x.ours(i)) })
		}
		if x.comesTo(i) {
			all = append(all, func(x *explorer) { x.turned(x.ours(i)) })
		}
	}
	if len(x.leaving) > 0 {
		all = append(all, func(x *explorer) {
			t := x.leaving[0]
			x.leaving = x.leaving[1:]
			x.nodes = slices.DeleteFunc(x.nodes, func(n *node) bool { return n.ticket == t })
		})
	}
	for i := range x.coming {
		all = append(all, func(x *explorer) { x.arrives(x.coming[i]) })
	}
	for i := range x.renewing {
		all = append(all, func(x *explorer) { x.renewal(x.renewing[i], true) })
		if x.left.failures > 0 {
			all = append(all, func(x *explorer) { x.left.failures--; x.renewal(x.renewing[i], false) })
		}
	}
	return all
}

func (w *world) holderAt(i int) *Holder {
	e := w.line.held.Front()
	for range i {
		e = e.Next()
	}
	return e.Value.(*Holder)
}

func (x *explorer) permits() bool { return x.wantsPermits }

// explore looks at all states that can be reached.
func explore(wants []Want, left bounds) (states int, bad string) {
	first := &explorer{world: newWorld(nil), wants: wants, left: left}
	first.wantsPermits = wants[0].Kind == Permit
	seen := map[string]bool{first.key(): true}
	for todo := []*explorer{first}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := range x.events() {
			for tries := [][]int{nil}; len(tries) > 0; {
				s := &script{says: tries[len(tries)-1]}
				tries = tries[:len(tries)-1]
				next := x.clone()
				next.choose = s.choose
				next.event++
				next.events()[i](next)
				for k, n := range s.more { // other answers than the first
					for a := 1; a < n; a++ {
						more := append(slices.Clone(s.says), make([]int, k+1)...)
						more[len(s.says)+k] = a
						tries = append(tries, more)
					}
				}
				if next.check(); next.bad != "" {
					return len(seen), fmt.Sprintf("%s\n%v\nthen\n%v", next.bad, x.world, next.world)
				}
				if key := next.key(); !seen[key] {
					seen[key] = true
					todo = append(todo, next)
				}
			}
		}
		if len(x.events()) == 0 && !x.idle() {
			return len(seen), fmt.Sprintf("stuck\n%v", x.world)
		}
	}
	return len(seen), ""
}

// key tells the states apart.
func (x *explorer) key() string {
	var b strings.Builder
	names := map[*Ticket]int{}
	name := func(t *Ticket) int {
		if t == nil {
			return 0
		}
		if names[t] == 0 {
			names[t] = len(names) + 1
			h := 0
			if t.holder != nil {
				h = 1
			}
			fmt.Fprintf(&b, "<%d %d %d %t %t %t %t %t %d %d %d %d>", len(names), t.kind, t.weight, t.try, t.moving, t.renewed, t.renewed && t.alone, t.seen, t.turns, h, x.count[t], x.most[t])
		}
		return names[t]
	}
	for _, n := range x.nodes {
		fmt.Fprintf(&b, "[%d %d %d %d]", n.kind, n.weight, name(n.ticket), name(n.after))
	}
	for g := x.line.first(); g != nil; g = x.next(g) {
		fmt.Fprintf(&b, "{%v %t %d", *g.Want, g.front, name(g.ticket))
		for _, c := range g.calls {
			fmt.Fprintf(&b, " %d", slices.Index(x.calls, c))
		}
		b.WriteString("}")
	}
	for i := range x.line.held.Len() {
		h := x.holderAt(i)
		fmt.Fprintf(&b, "(%d %q %t %t %d %d %d %t %d)", h.kind, h.owner, h.accepted, h.shared, h.handoff, h.levels, h.handles+10*h.entering, h.lost != nil, name(h.ticket))
	}
	for _, t := range x.leaving {
		fmt.Fprintf(&b, "-%d", name(t))
	}
	for _, t := range x.renewing {
		fmt.Fprintf(&b, "~%d%t", name(t), x.mustbe[t])
	}
	for _, c := range x.coming {
		fmt.Fprintf(&b, ">%d %d", slices.Index(x.calls, c), x.line.live)
		for i := range x.line.held.Len() {
			if x.holderAt(i) == c.into {
				fmt.Fprintf(&b, "@%d", i)
			}
		}
	}
	numbers := make([]*Ticket, 0, len(names))
	for t := range names {
		numbers = append(numbers, t)
	}
	slices.SortFunc(numbers, func(a, b *Ticket) int { return int(a.number - b.number) })
	for _, t := range numbers {
		fmt.Fprintf(&b, ",%d", names[t])
	}
	for _, c := range x.calls {
		fmt.Fprintf(&b, " %d%t", x.answered[c], x.back[c])
	}
	fmt.Fprintf(&b, "/%d %v", len(x.wants), x.left)
	return b.String()
}

// clone returns a copy that shares nothing which changes.
func (x *explorer) clone() *explorer {
	y := &explorer{world: newWorld(nil), wants: x.wants, left: x.left}
	l, o := y.line, x.line
	l.sum, l.stood, l.live, l.owed, l.moving, l.tickets = o.sum, o.stood, o.live, o.owed, o.moving, o.tickets
	y.handed, y.bad, y.wantsPermits = x.handed, x.bad, x.wantsPermits
	tickets, groups, holders, calls := map[*Ticket]*Ticket{}, map[*group]*group{}, map[*Holder]*Holder{}, map[*Call]*Call{}
	ticket := func(t *Ticket) *Ticket {
		if t == nil || tickets[t] != nil {
			return tickets[t]
		}
		c := *t
		tickets[t] = &c
		return &c
	}
	call := func(c *Call) *Call {
		if calls[c] == nil {
			d := *c
			calls[c] = &d
			if d.ready = make(chan struct{}); x.answered[c] > 0 {
				close(d.ready)
			}
		}
		return calls[c]
	}
	for g := o.first(); g != nil; g = o.next(g) {
		c := *g
		groups[g] = &c
		c2 := groups[g]
		c2.ticket, c2.calls, c2.asks = ticket(g.ticket), nil, nil
		for _, k := range g.calls {
			c2.add(call(k))
		}
		c2.elem = l.waits.PushBack(c2)
	}
	for owner, all := range o.asking {
		for e := all.Front(); e != nil; e = e.Next() {
			if c := groups[e.Value.(*group)]; c.Owner == owner {
				l.waitsFor(c)
			}
		}
	}
	l.edge, l.tail = groups[o.edge], groups[o.tail]
	for e := o.held.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Holder)
		c := *h
		holders[h] = &c
		c2 := holders[h]
		c2.ticket = ticket(h.ticket)
		c2.elem = l.held.PushBack(c2)
		if c2.owner != "" {
			if l.owners == nil {
				l.owners = map[string][]*Holder{}
			}
		}
	}
	for owner, list := range o.owners {
		for _, h := range list {
			l.owners[owner] = append(l.owners[owner], holders[h])
		}
	}
	l.single, l.joined = holders[o.single], holders[o.joined]
	holder := func(h *Holder) *Holder { // one that has ended may still be entered
		if h != nil && holders[h] == nil {
			c := *h
			c.ticket = ticket(h.ticket)
			holders[h] = &c
		}
		return holders[h]
	}
	for _, n := range x.nodes {
		y.nodes = append(y.nodes, &node{ticket: ticket(n.ticket), kind: n.kind, weight: n.weight, after: ticket(n.after)})
	}
	for _, t := range x.leaving {
		y.leaving = append(y.leaving, ticket(t))
	}
	for _, t := range x.renewing {
		y.renewing = append(y.renewing, ticket(t))
		y.mustbe[ticket(t)] = x.mustbe[t]
	}
	for _, c := range x.calls {
		y.calls = append(y.calls, call(c))
		y.answered[call(c)], y.back[call(c)] = x.answered[c], x.back[c]
		call(c).holder, call(c).into = holders[c.holder], holder(c.into)
	}
	for _, c := range x.coming {
		y.coming = append(y.coming, call(c))
	}
	for t, c := range tickets {
		c.group, c.holder = groups[t.group], holders[t.holder]
		y.count[c], y.most[c], y.again[c] = x.count[t], x.most[t], x.again[t]
	}
	return y
}

var _ = list.New

// kinds are the calls that there are in small worlds.
var lockWants = []Want{
	{Kind: Exclusive, Handoff: 1},
	{Kind: Write, Handle: true, Handoff: 1},
	{Kind: Read, Handoff: 1},
	{Kind: Read, Handle: true, Handoff: 1},
	{Kind: Write, Try: true, Handoff: 1},
	{Kind: Write, Owner: "a", Handoff: 1},
	{Kind: Write, Owner: "a", Handle: true, Handoff: 1},
	{Kind: Read, Owner: "a", Handoff: 1},
}

var permitWants = []Want{
	{Kind: Permit, Weight: 1, Limit: worldLimit, Handoff: 1},
	{Kind: Permit, Weight: 2, Limit: worldLimit, Handoff: 1},
	{Kind: Permit, Weight: 3, Limit: worldLimit, Handoff: 1},
	{Kind: Permit, Weight: 1, Limit: worldLimit, Handle: true, Handoff: 1},
	{Kind: Permit, Weight: 2, Limit: worldLimit, Try: true, Handoff: 1},
	{Kind: Permit, Weight: 0, Limit: worldLimit, Handoff: 1},
}

func TestSmallWorlds(t *testing.T) {
	left := bounds{foreign: 1, losses: 1, failures: 1}
	calls := 2
	if os.Getenv("ZKSYNC_LONG") != "" && !race.Enabled && testing.CoverMode() == "" { // minutes, and hours with those
		left.foreign, calls = 2, 3
	}
	worlds, states := 0, 0
	for _, wants := range [][]Want{lockWants, permitWants} {
		n := 1
		for range calls {
			n *= len(wants)
		}
		for i := range n {
			var three []Want
			for k := i; len(three) < calls; k /= len(wants) {
				three = append(three, wants[k%len(wants)])
			}
			found, bad := explore(three, left)
			if bad != "" {
				t.Fatalf("%+v: %s", three, bad)
			}
			worlds, states = worlds+1, states+found
		}
	}
	t.Logf("%d worlds, %d states", worlds, states)
}
