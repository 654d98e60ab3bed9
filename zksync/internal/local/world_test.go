package local

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// world is a path in ZooKeeper with the nodes that stand there, and the hands of
// one line. What is a matter of chance is asked of choose.
type world struct {
	*line
	choose func(n int) int

	nodes        []*node
	leaving      []*Ticket        // deletions on their way
	renewing     []*Ticket        // renewals on their way
	mustbe       map[*Ticket]bool // of these: nobody else may be in line
	forbidden    string           // the owner whose calls are being ended
	owning       *Call            // that enters what its owner holds
	calls        []*Call          // that were taken in
	answered     map[*Call]int
	coming       []*Call          // to a holder of their owner, by a request
	back         map[*Call]bool   // had to stand in line again
	again        map[*Ticket]bool // stood in line again, behind those who came later
	count        map[*Ticket]int  // hand-overs since nobody else was known to wait
	most         map[*Ticket]int  // the largest budget of those it served
	event        int              // counts what has happened
	last         map[*Ticket]int  // the event of its last hand-over
	handed       int
	bad          string
	wantsPermits bool
}

// node is a node in line; without a ticket it is somebody else's.
type node struct {
	ticket *Ticket
	kind   Kind
	weight int64
	after  *Ticket // a read node that stands beside the node of this one
}

const worldLimit = 3

func newWorld(choose func(n int) int) *world {
	w := &world{choose: choose, mustbe: map[*Ticket]bool{}, back: map[*Call]bool{}, again: map[*Ticket]bool{}, answered: map[*Call]int{}, forbidden: "-",
		count: map[*Ticket]int{}, most: map[*Ticket]int{}, last: map[*Ticket]int{}}
	w.line = &line{hands: w}
	return w
}

// newCall returns a call that wants x.
func newCall(x Want) *Call { return &Call{Want: x, ready: make(chan struct{})} }

func (w *world) wrong(format string, args ...any) {
	if w.bad == "" {
		w.bad = fmt.Sprintf(format, args...)
	}
}

func (w *world) stand(g *group) *Ticket {
	t := &Ticket{kind: g.Kind, weight: g.Weight, try: g.Try}
	w.nodes = append(w.nodes, &node{ticket: t, kind: g.Kind, weight: g.Weight})
	return t
}

func (w *world) renew(t *Ticket, alone bool) {
	if slices.Contains(w.renewing, t) {
		w.wrong("a ticket is renewed twice at a time")
	}
	w.renewing = append(w.renewing, t)
	w.mustbe[t] = alone
}

func (w *world) leave(t *Ticket) {
	if slices.Contains(w.leaving, t) {
		w.wrong("a ticket leaves twice")
	}
	w.leaving = append(w.leaving, t)
	w.renewing = slices.DeleteFunc(w.renewing, func(o *Ticket) bool { return o == t })
}

func (w *world) serves(t *Ticket, g *group) {
	if t.group != g || t.holder != nil {
		w.wrong("a ticket is said to serve a group that is not its own")
	}
}

func (w *world) lost(h *Holder) {
	if h.lost == nil {
		w.wrong("a holder is told of a loss that is none")
	}
}

func (w *world) watch(t *Ticket) {
	if t.holder == nil {
		w.wrong("a ticket without a holder is watched")
	}
}

func (w *world) fit(t *Ticket) bool { return w.node(t) != nil && w.choose(2) == 0 }

func (w *world) alone(t *Ticket) bool {
	if w.others() || w.choose(2) == 0 {
		return false
	}
	w.count[t] = 0
	return true
}

func (w *world) answer(c *Call) {
	if w.answered[c]++; w.answered[c] > 1 {
		w.wrong("a call was answered twice")
	}
	close(c.ready)
	switch {
	case errors.Is(c.err, ErrDeadlock):
		w.deadlocked(c)
	case c.into != nil:
		w.comes(c)
	case c.err == nil && c.holder == nil && (c.Kind != Permit || c.Weight > 0):
		w.wrong("a call is answered with nothing")
	}
	if c.err != nil || c.holder == nil {
		return
	}
	c.holder.taken = true
	switch {
	case c.Within && w.owning != c:
		w.wrong("the lock is granted to work that holds it already")
	case w.owning == nil && !c.enters: // else its owner holds already
		w.inOrder(c)
	case c.Owner == "" || c.holder.owner != c.Owner:
		w.wrong("a call enters what its owner does not hold")
	}
	t := c.holder.ticket
	w.most[t] = max(w.most[t], c.Handoff)
	if t.used && !c.enters && w.last[t] != w.event { // those of a group count as one
		w.count[t]++
		w.last[t] = w.event
	}
}

// inOrder checks that nobody waits who came earlier and could not be beside c.
func (w *world) inOrder(c *Call) {
	for _, o := range w.calls {
		if o == c {
			return
		}
		if o.group == nil || w.answered[o] > 0 {
			continue
		}
		late := o.Kind.Alone() || c.Kind.Alone()
		if c.Kind == Permit {
			t := o.group.ticket
			late = o.Weight > 0 && !w.back[o] && (t == nil || !t.renewed && !w.again[t] && !w.comesTo(w.index(t)))
		}
		if late {
			w.wrong("a call overtook an earlier one")
		}
	}
}

func (w *world) index(t *Ticket) int {
	return slices.IndexFunc(w.nodes, func(n *node) bool { return n.ticket == t })
}

func (w *world) node(t *Ticket) *node {
	if i := w.index(t); i >= 0 {
		return w.nodes[i]
	}
	return nil
}

// others reports whether nodes of somebody else are in line.
func (w *world) others() bool {
	return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.ticket == nil })
}

// turnOf reports whether it is the turn of the node at i.
func (w *world) turnOf(i int) bool {
	var sum int64
	for _, n := range w.nodes[:i+1] {
		sum += n.weight
	}
	switch w.nodes[i].kind {
	case Permit:
		return sum <= worldLimit
	case Read:
		return !slices.ContainsFunc(w.nodes[:i], func(n *node) bool {
			return n.kind.Alone() && (n.ticket == nil || n.ticket != w.nodes[i].after)
		})
	}
	return i == 0
}

func (w *world) take(c *Call) {
	if h := w.enterable(c); h != nil {
		w.own(h, c)
		return
	}
	w.calls = append(w.calls, c)
	err := w.join(c)
	if err != nil {
		w.calls = w.calls[:len(w.calls)-1]
		if !c.Try && !c.Within {
			w.wrong("a call that waits was refused")
		}
	} else if c.group != nil {
		w.waiting(c.group)
	}
	if c.Within && !errors.Is(err, ErrDeadlock) {
		w.wrong("a call waits for the work that makes it")
	}
}

// turned has the turn of a ticket come, and those told who have lost the lock.
func (w *world) turned(t *Ticket) {
	for w.turn(t) {
	}
}

// broken ends a node of ours by somebody's hand; told: the holder hears of it.
func (w *world) broken(n *node, told bool) {
	w.nodes = slices.DeleteFunc(w.nodes, func(o *node) bool { return o == n })
	t := n.ticket
	switch {
	case slices.Contains(w.leaving, t), t.renewed && t.holder == nil:
	case t.moving && t.holder == nil:
		w.nodes = append(w.nodes, n) // its entry stands in line again
		w.again[t] = true
	case t.holder != nil && told:
		w.lose(t.holder, errGone)
	}
}

// renewal answers a renewal; well: it can succeed.
func (w *world) renewal(t *Ticket, well bool) {
	w.renewing = slices.DeleteFunc(w.renewing, func(o *Ticket) bool { return o == t })
	n := w.node(t)
	var err error
	if n == nil {
		err = errGone
	} else if w.mustbe[t] && len(w.nodes) > 1 || !well {
		err = errBusy
	}
	if err == nil {
		n.weight = t.weight
		was := w.line.held.Len()
		w.turned(t)
		if w.mustbe[t] {
			w.count[t] = 0 // nobody else was in line
		}
		if w.line.held.Len() != was {
			w.handed++
		}
		return
	}
	h := t.holder
	if t.group != nil {
		for _, c := range t.group.calls {
			w.back[c] = true
		}
	}
	w.failed(t, err)
	if h != nil && n == nil {
		w.lose(h, errGone)
	}
}

// ours is the ticket of the node at i, nil if that is somebody else's.
func (w *world) ours(i int) *Ticket { return w.nodes[i].ticket }

// refused ends the entry of a ticket in line with an error.
func (w *world) refused(t *Ticket) {
	w.failed(t, errRefused)
}

var errRefused = errors.New("refused")

// comesTo reports whether the turn of the node at i can come to its ticket.
func (w *world) comesTo(i int) bool {
	if i < 0 {
		return false
	}
	t := w.ours(i)
	return t != nil && t.moving && t.holder == nil && !t.renewed && w.turnOf(i)
}

// check looks at everything that always has to be so.
func (w *world) check() {
	l := w.line
	live, owed, moving, entering := 0, 0, 0, 0
	var single *Holder
	for e := l.held.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Holder)
		if h.over() {
			w.wrong("a holder without a level or handle")
		}
		entering += h.entering
		if h.lost == nil {
			live++
			if h.ticket.holder != h {
				w.wrong("a holder does not stand on its ticket")
			}
			if s := l.single; s != nil && s.lost == nil && s != h && (h.kind != Read || h.owner == "" || h.owner != s.owner) {
				w.wrong("somebody holds beside one that holds alone")
			}
			if h.handles > 0 && !h.ticket.seen {
				w.wrong("a ticket with a handle may be handed over")
			}
			if h.handles+int(h.levels) > 1 && h.handles > 0 && h.owner == "" {
				w.wrong("a handle is shared")
			}
		} else {
			owed++
			if h.handles+h.entering > 0 {
				w.wrong("a lost holder has a handle, or somebody enters it")
			}
		}
		if h.kind.Alone() {
			if single != nil {
				w.wrong("two hold alone")
			}
			single = h
		}
	}
	if live != l.live || owed != l.owed || single != l.single {
		w.wrong("live %d, counted %d; owed %d, counted %d; single %v", live, l.live, owed, l.owed, single == l.single)
	}
	blocked := l.single != nil && l.single.lost != nil
	var edge *group
	sum, stood, front := int64(0), 0, true
	tickets := map[*Ticket]bool{}
	for g := l.first(); g != nil; g = l.next(g) {
		if len(g.calls) == 0 {
			w.wrong("a group without a call")
		}
		w.waiting(g)
		if g.Within {
			w.wrong("a call waits for the work that makes it")
		}
		if g.front {
			if !front || blocked {
				w.wrong("a group is in front that must not be")
			}
			edge = g
			if g.Kind == Permit && (g.ticket == nil || !g.ticket.renewed) {
				sum, stood = sum+g.Weight, stood+1
			}
			if g.ticket == nil && !(g.Kind == Permit && g.Weight == 0) &&
				!(g == l.first() && l.single != nil && l.passes(l.single, g)) {
				w.wrong("a group in front has no ticket, and waits for no hand-over")
			}
		} else {
			front = false
			if g.ticket != nil {
				w.wrong("a group that is not in front has a ticket")
			}
		}
		if t := g.ticket; t != nil {
			tickets[t] = true
			if t.group != g || !t.moving {
				w.wrong("a ticket does not move for its group")
			}
			if t.seen && t.holder == nil {
				w.wrong("a ticket that was seen goes on to another group")
			}
			moving++
		}
	}
	if first := l.first(); first != nil && !first.front && !blocked {
		w.wrong("the first is not in front")
	}
	if edge != l.edge || sum != l.sum || stood != l.stood || moving != l.moving {
		w.wrong("edge %v, sum %d of %d, stood %d of %d, moving %d of %d", edge == l.edge, sum, l.sum, stood, l.stood, moving, l.moving)
	}
	for _, c := range w.coming {
		if c.into.lost == nil {
			entering--
		}
	}
	if entering != 0 {
		w.wrong("%d calls more are expected to enter than do", entering)
	}
	for _, n := range w.nodes {
		if t := n.ticket; t != nil && !tickets[t] && t.holder == nil && !slices.Contains(w.leaving, t) {
			w.wrong("a node serves nobody and does not leave")
		}
	}
	w.exclusion()
}

// exclusion looks at those who hold on nodes that stand.
func (w *world) exclusion() {
	var sum int64
	for e := w.line.held.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Holder)
		if h.lost != nil || h.kind != Permit || w.node(h.ticket) == nil {
			continue
		}
		sum += max(h.levels, 1)
	}
	if sum > worldLimit {
		w.wrong("%d permits of %d", sum, worldLimit)
	}
	for i, n := range w.nodes {
		if t := n.ticket; t != nil && t.holder != nil && t.holder.lost == nil && !w.turnOf(i) {
			w.wrong("a holder whose turn it is not")
		}
	}
	for t, n := range w.count {
		if n > w.most[t] {
			w.wrong("%d hand-overs, the budget is %d", n, w.most[t])
		}
	}
}

// idle reports whether nothing is left.
func (w *world) idle() bool {
	return w.line.first() == nil && w.line.held.Len()+w.line.moving+len(w.leaving)+len(w.renewing)+len(w.nodes)+len(w.coming) == 0
}

// String shows who waits, who holds and which nodes stand.
func (w *world) String() string {
	var b strings.Builder
	names := map[*Ticket]string{}
	name := func(t *Ticket) string {
		if t == nil {
			return "-"
		}
		if names[t] == "" {
			names[t] = fmt.Sprint("t", len(names))
		}
		s := names[t]
		if t.renewed {
			s += "~"
		}
		if t.seen {
			s += "*"
		}
		return s
	}
	for _, n := range w.nodes {
		fmt.Fprintf(&b, " [%d/%d %s]", n.kind, n.weight, name(n.ticket))
	}
	b.WriteString("\n   waits")
	for g := w.line.first(); g != nil; g = w.next(g) {
		fmt.Fprintf(&b, " {%d/%d x%d handle %t try %t owner %q budget %d front %t %s}", g.Kind, g.Weight, len(g.calls), g.Handle, g.Try, g.Owner, g.Handoff, g.front, name(g.ticket))
	}
	b.WriteString("\n   holds")
	for e := w.line.held.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Holder)
		fmt.Fprintf(&b, " {%d levels %d handles %d owner %q accepted %t lost %t turns %d %s}", h.kind, h.levels, h.handles, h.owner, h.accepted, h.lost != nil, h.ticket.turns, name(h.ticket))
	}
	fmt.Fprintf(&b, "\n   %d leave, %d are renewed, %d enter", len(w.leaving), len(w.renewing), len(w.coming))
	return b.String()
}
