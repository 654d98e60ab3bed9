package local

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/race"
)

// Small worlds are explored to the end: every order of all that can happen to three
// calls, until no state appears that was not seen before.

// limits bound what happens to a world that is explored.
type bounds struct{ calls, foreign, losses, failures int }

// explorer is a world whose chances are all taken.
type explorer struct {
	*world
	kinds []Want // what a call may want
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
	for i := range x.kinds {
		if x.left.calls > 0 {
			all = append(all, func(x *explorer) {
				x.left.calls--
				x.take(newCall(x.kinds[i]))
			})
		}
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
	for i := range x.line.held.n {
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
	if x.resting != nil {
		all = append(all, func(x *explorer) { x.yield() })
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
	h := w.line.held.first
	for range i {
		h = h.next
	}
	return h
}

func (x *explorer) permits() bool { return x.wantsPermits }

// fingerprint tells the keys of states apart. That two of ten million keys have the same 128 bits has a chance of 1 in 10^24.
type fingerprint [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// explore looks at all states that can be reached by calls of the kinds.
func explore(kinds []Want, left bounds) (states int, bad string) {
	first := &explorer{world: newWorld(nil), kinds: kinds, left: left}
	first.wantsPermits = kinds[0].Kind == Permit
	seen := map[fingerprint]struct{}{}
	var key keyWriter
	isNew := func(x *explorer) bool {
		key.write(x)
		f := fingerprint{maphash.Bytes(seeds[0], key.b), maphash.Bytes(seeds[1], key.b)}
		_, is := seen[f]
		seen[f] = struct{}{}
		return !is
	}
	isNew(first)
	for todo := []*explorer{first}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		events := len(x.events())
		for i := range events {
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
				if isNew(next) {
					todo = append(todo, next)
				}
			}
		}
		if events == 0 && !x.idle() {
			return len(seen), fmt.Sprintf("stuck\n%v", x.world)
		}
	}
	return len(seen), ""
}

// keyWriter writes the key of a state, which tells the states apart.
type keyWriter struct {
	b     []byte
	names []*Ticket // a ticket's name is its index plus 1
}

func (k *keyWriter) add(tag byte, numbers ...int) {
	k.b = append(k.b, tag)
	for _, n := range numbers {
		k.b = binary.AppendVarint(k.b, int64(n))
	}
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}

// name returns the name of a ticket. It writes the ticket when it names it.
func (k *keyWriter) name(x *explorer, t *Ticket) int {
	if t == nil {
		return 0
	}
	if i := slices.Index(k.names, t); i >= 0 {
		return i + 1
	}
	k.names = append(k.names, t)
	k.add('<', int(t.kind), int(t.weight), bit(t.try), bit(t.moving), bit(t.renewed), bit(t.renewed && t.alone), bit(t.seen),
		bit(t.used), bit(t.rested), bit(x.keen[t]), t.turns, bit(t.holder != nil), x.count[t], x.most[t])
	return len(k.names)
}

func (k *keyWriter) write(x *explorer) {
	k.b, k.names = k.b[:0], k.names[:0]
	for _, n := range x.nodes {
		k.add('[', int(n.kind), int(n.weight), k.name(x, n.ticket), k.name(x, n.after))
	}
	for g := x.line.first(); g != nil; g = x.next(g) {
		k.add('{', bit(g.front), k.name(x, g.ticket))
		for _, c := range g.calls {
			k.add(' ', slices.Index(x.calls, c))
		}
	}
	for i := range x.line.held.n {
		h := x.holderAt(i)
		k.add('(', int(h.kind), len(h.owner), bit(h.shared), bit(h.known), bit(h.accepted), h.handoff, int(h.linger), int(h.levels), h.handles, h.entering, bit(h.lost != nil), k.name(x, h.ticket))
	}
	if x.resting != nil {
		k.add('=', k.name(x, x.resting))
	}
	for _, t := range x.leaving {
		k.add('-', k.name(x, t))
	}
	for _, t := range x.renewing {
		k.add('~', k.name(x, t), bit(x.mustbe[t]))
	}
	for _, c := range x.coming {
		k.add('>', slices.Index(x.calls, c), x.line.live)
		for i := range x.line.held.n {
			if x.holderAt(i) == c.into {
				k.add('@', i)
			}
		}
	}
	for _, t := range k.names { // which of them are older decides who leaves first
		older := 0
		for _, o := range k.names {
			older += bit(o.number < t.number)
		}
		k.add(',', older)
	}
	for _, c := range x.calls {
		k.add('c', slices.Index(x.kinds, c.Want), x.answered[c], bit(x.back[c]))
	}
	k.add('/', x.left.calls, x.left.foreign, x.left.losses, x.left.failures)
}

// copies has few originals, each with its copy.
type copies[T any] [][2]*T

// of returns the copy of an original, or nil.
func (c copies[T]) of(original *T) *T {
	for _, pair := range c {
		if pair[0] == original {
			return pair[1]
		}
	}
	return nil
}

// add makes a copy.
func (c *copies[T]) add(original *T) *T {
	made := *original
	*c = append(*c, [2]*T{original, &made})
	return &made
}

// clone returns a copy that shares nothing which changes.
func (x *explorer) clone() *explorer {
	y := &explorer{world: newWorld(nil), kinds: x.kinds, left: x.left}
	l, o := y.line, x.line
	l.sum, l.stood, l.live, l.owed, l.moving, l.tickets = o.sum, o.stood, o.live, o.owed, o.moving, o.tickets
	y.handed, y.bad, y.wantsPermits = x.handed, x.bad, x.wantsPermits
	var (
		tickets copies[Ticket]
		groups  copies[group]
		holders copies[Holder]
		calls   copies[Call]
	)
	ticket := func(t *Ticket) *Ticket {
		if c := tickets.of(t); t == nil || c != nil {
			return c
		}
		return tickets.add(t)
	}
	call := func(c *Call) *Call {
		d := calls.of(c)
		if d == nil {
			d = calls.add(c)
			if d.ready = make(chan struct{}); x.answered[c] > 0 {
				close(d.ready)
			}
		}
		return d
	}
	for g := o.first(); g != nil; g = o.next(g) {
		c2 := groups.add(g)
		c2.ticket, c2.calls, c2.asks = ticket(g.ticket), nil, nil
		for _, k := range g.calls {
			c2.add(call(k))
		}
		l.waits.add(c2)
	}
	for owner, all := range o.asking {
		for e := all.Front(); e != nil; e = e.Next() {
			if c := groups.of(e.Value.(*group)); c.Owner == owner {
				l.waitsFor(c)
			}
		}
	}
	l.edge, l.tail = groups.of(o.edge), groups.of(o.tail)
	for h := o.held.first; h != nil; h = h.next {
		c2 := holders.add(h)
		c2.ticket = ticket(h.ticket)
		l.held.add(c2)
		if c2.owner != "" {
			if l.owners == nil {
				l.owners = map[string][]*Holder{}
			}
		}
	}
	for owner, list := range o.owners {
		for _, h := range list {
			l.owners[owner] = append(l.owners[owner], holders.of(h))
		}
	}
	l.single, l.joined = holders.of(o.single), holders.of(o.joined)
	holder := func(h *Holder) *Holder { // one that has ended may still be entered
		if h != nil && holders.of(h) == nil {
			holders.add(h).ticket = ticket(h.ticket)
		}
		return holders.of(h)
	}
	for _, n := range x.nodes {
		y.nodes = append(y.nodes, &node{ticket: ticket(n.ticket), kind: n.kind, weight: n.weight, after: ticket(n.after)})
	}
	l.resting = ticket(o.resting)
	for _, t := range x.leaving {
		y.leaving = append(y.leaving, ticket(t))
	}
	for _, t := range x.renewing {
		y.renewing = append(y.renewing, ticket(t))
		y.mustbe[ticket(t)] = x.mustbe[t]
	}
	for _, c := range x.calls {
		y.calls = append(y.calls, call(c))
		if n := x.answered[c]; n != 0 {
			y.answered[call(c)] = n
		}
		if x.back[c] {
			y.back[call(c)] = true
		}
		call(c).holder, call(c).into = holders.of(c.holder), holder(c.into)
	}
	for _, c := range x.coming {
		y.coming = append(y.coming, call(c))
	}
	for _, pair := range tickets {
		t, c := pair[0], pair[1]
		c.group, c.holder = groups.of(t.group), holders.of(t.holder)
		if n := x.count[t]; n != 0 {
			y.count[c] = n
		}
		if n := x.most[t]; n != 0 {
			y.most[c] = n
		}
		if x.keen[t] {
			y.keen[c] = true
		}
		if x.again[t] {
			y.again[c] = true
		}
	}
	return y
}

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
	{Kind: Write, Handoff: 1, Linger: 1},
	{Kind: Read, Handoff: 1, Linger: 1},
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
	locks := lockWants
	left := bounds{calls: 2, foreign: 1, losses: 1, failures: 1}
	if os.Getenv("ZKSYNC_LONG") != "" && !race.Enabled && testing.CoverMode() == "" { // minutes, and hours with those
		left.calls, left.foreign = 3, 2
		locks = locks[:len(locks)-1] // readers that linger make the worlds of three calls twice as many
	}
	var states atomic.Int64
	t.Run("kinds", func(t *testing.T) {
		for name, kinds := range map[string][]Want{"locks": locks, "permits": permitWants} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				found, bad := explore(kinds, left)
				if bad != "" {
					t.Fatal(bad)
				}
				states.Add(int64(found))
			})
		}
	})
	t.Logf("%d calls of %d kinds, %d states", left.calls, len(locks)+len(permitWants), states.Load())
}
