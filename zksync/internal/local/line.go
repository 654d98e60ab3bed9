package local

import (
	"container/list"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// hands act for a line, which decides. They are called with the lock's mutex held,
// and make no request before it is free.
type hands interface {
	stand(g *group) *Ticket      // begin to stand in ZooKeeper's line for g
	renew(t *Ticket, alone bool) // make t fit for another holder, with its weight; alone: or fail if anybody else waits
	leave(t *Ticket)             // delete the node, or stop waiting with it
	watch(t *Ticket)             // hear of the node's end, as a hand-over needs
	fit(t *Ticket) bool          // t may serve another holder at this moment
	alone(t *Ticket) bool        // nobody outside this line is known to wait
	answer(c *Call)              // the wait of c is over
	serves(t *Ticket, g *group)  // t will serve g, and nobody else
	lost(h *Holder)              // h is lost: its handles end
}

// The errors of a line.
var (
	errBusy = queue.ErrBusy
	errGone = conn.ErrNodeGone
)

// maxStanding bounds how many permits' tickets stand in ZooKeeper's line.
const maxStanding = 256

// line is who waits for a lock in this process, and who holds it. It decides who is
// next, which ticket serves whom, and what becomes of a ticket. It knows no mutex,
// time, context or request: it is told what happened, and calls its hands. The
// cost of a call is the same however many wait or hold.
type line struct {
	hands

	waits list.List // of *group, in order
	edge  *group    // the last of those in front; they may stand in ZooKeeper's line
	sum   int64     // weights of the permits in front whose nodes add to the line
	stood int       // how many these are
	tail  *group    // readers that one who comes now joins
	count int       // of calls that wait

	held   list.List             // of *Holder, the oldest first; lost ones with levels included
	live   int                   // of held, not lost
	single *Holder               // of held, who holds alone, or has lost that and keeps its place
	joined *Holder               // of held, the newest that readers share
	owners map[string][]*Holder  // of held, by owner
	asking map[string]*list.List // of *group, in order: those that wait, by owner
	owed   int                   // of held, lost
	moving int                   // tickets on their way to a turn

	tickets int64 // that were made
}

func (l *line) first() *group {
	if e := l.waits.Front(); e != nil {
		return e.Value.(*group)
	}
	return nil
}

// before returns how many calls wait before a group.
func (l *line) before(g *group) (n int) {
	if l.count == l.waits.Len() { // one a group: there is no need to look at them
		for e := l.waits.Front(); e != g.elem; e = e.Next() {
			n++
		}
		return n
	}
	for o := l.first(); o != g; o = l.next(o) {
		n += len(o.calls)
	}
	return n
}

func (l *line) next(g *group) *group {
	if g == nil {
		return l.first()
	}
	if e := g.elem.Next(); e != nil {
		return e.Value.(*group)
	}
	return nil
}

// join takes a call in whose owner does not hold. It is served, refused, or waits.
func (l *line) join(c *Call) error {
	if c.Within {
		return ErrDeadlock // the work that makes it holds the lock
	}
	if h := l.joinable(&c.Want); h != nil && l.first() == nil && l.fit(h.ticket) {
		h.ticket.turns++
		l.admit(h, c)
		return nil
	}
	if c.Try && (l.first() != nil || l.single != nil || c.Kind.Alone() && l.live > 0) {
		return errBusy
	}
	l.count++
	if l.tail != nil && c.shares() {
		l.tail.add(c)
		l.settle()
		return nil
	}
	g := &group{Want: &c.Want}
	g.add(c)
	g.elem = l.waits.PushBack(g)
	l.waitsFor(g)
	switch {
	case c.shares():
		l.tail = g
	case c.Kind != Read:
		l.tail = nil
	}
	l.settle()
	return nil
}

// joinable returns a holder whose ticket may serve more readers.
func (l *line) joinable(w *Want) *Holder {
	h := l.joined
	if h == nil || l.single != nil || !w.shares() || !h.ticket.lends(h, w) ||
		h.ticket.renewed || h.ticket.turns >= min(h.handoff, w.Handoff) {
		return nil
	}
	return h
}

// settle moves those who may hold next to the front, and sees to it that each of
// them has a ticket or waits for the holder's.
func (l *line) settle() {
	for g := l.first(); g != nil && g.Kind == Permit && g.Weight == 0; g = l.first() {
		l.remove(g)
		l.answerAll(g) // it wanted its turn and nothing else
	}
	if l.blocked() {
		return
	}
	for g := l.next(l.edge); g != nil && l.admits(g); g = l.next(l.edge) {
		l.advance(g)
		l.place(g)
	}
	if g := l.first(); g != nil && g.front && g.ticket == nil {
		l.place(g)
	}
}

// advance has g, which is in front or comes after it, belong to the front.
func (l *line) advance(g *group) {
	if g.front {
		return
	}
	l.edge, g.front = g, true
	l.adds(g, true)
}

// adds notes whether the node of a permit in front adds to those that stand: not if it
// is a holder's that is renewed.
func (l *line) adds(g *group, adds bool) {
	if g.Kind != Permit || g.adds == adds {
		return
	}
	if g.adds = adds; adds {
		l.sum += g.Weight
		l.stood++
	} else {
		l.sum -= g.Weight
		l.stood--
	}
}

// blocked reports whether a lost holder keeps its place here. In ZooKeeper's line
// nobody stands for this process then: it would hold up the others for nothing.
func (l *line) blocked() bool { return l.single != nil && l.single.lost != nil }

// admits reports whether g, which comes after the front, belongs to it: the first
// one, readers after readers, and permits that may be granted together.
func (l *line) admits(g *group) bool {
	switch {
	case l.edge == nil:
		return true
	case g.Kind == Permit:
		return l.stood < maxStanding && l.sum+g.Weight <= g.Limit
	}
	return g.Kind == Read && l.edge.Kind == Read
}

// place gives a group in front a ticket, unless it waits for the holder's.
func (l *line) place(g *group) {
	if g.Weight == 0 && g.Kind == Permit {
		return
	}
	if h := l.single; h != nil && l.moving == 0 && l.passes(h, g) {
		l.watch(h.ticket)
		return
	}
	if h := l.joinable(g.Want); h != nil {
		l.assign(h.ticket, g)
		if l.fit(h.ticket) {
			l.grant(h.ticket)
			return
		}
		l.refresh(h.ticket, false, 0)
		return
	}
	l.adds(g, true)
	t := l.stand(g)
	l.tickets++
	t.number, t.limit, t.strict = l.tickets, g.Limit, g.Strict
	l.assign(t, g)
	l.move(t)
}

// passes reports whether the lock goes from h, who holds alone, to g without a turn
// when h ends.
func (l *line) passes(h *Holder, g *group) bool {
	// Beside a writer's own readers its ticket can't go on: they read on.
	return l.held.Len() == 1 && h.ticket.lends(h, g.Want)
}

func (l *line) assign(t *Ticket, g *group) {
	t.group, g.ticket = g, t
	if t.holder == nil {
		l.serves(t, g)
	}
}

func (l *line) move(t *Ticket) {
	t.moving = true
	l.moving++
}

// refresh has a ticket renewed.
func (l *line) refresh(t *Ticket, alone bool, weight int64) {
	l.move(t)
	t.renewed, t.alone, t.weight = true, alone, weight
	l.adds(t.group, false)
	l.renew(t, alone)
}

// drop takes a ticket out of those on their way.
func (l *line) drop(t *Ticket) {
	if t.group != nil {
		t.group.ticket = nil
		t.group = nil
	}
	if t.moving {
		t.moving = false
		l.moving--
	}
}

// remove takes a group out of the line.
func (l *line) remove(g *group) {
	if l.edge == g {
		l.edge = nil
		if e := g.elem.Prev(); e != nil {
			l.edge = e.Value.(*group)
		}
	}
	l.adds(g, false)
	l.waitsNoMore(g)
	if l.tail == g {
		l.tail = nil
	}
	g.front = false
	l.count -= len(g.calls)
	l.waits.Remove(g.elem)
}

func (l *line) answerAll(g *group) {
	for _, c := range g.calls {
		c.group = nil
		l.answer(c)
	}
}
