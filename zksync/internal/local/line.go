package local

import (
	"container/list"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// hands carry out what a line decides. They are called with the lock's mutex held and
// make no request before it is free.
type hands interface {
	stand(g *group) *Ticket      // begin to stand in ZooKeeper's line for g
	renew(t *Ticket, alone bool) // make t fit for another holder of its weight; if alone, fail if anybody else waits
	leave(t *Ticket)             // delete the node, or stop waiting with it
	watch(t *Ticket)             // watch the node, as a hand-over requires
	fit(t *Ticket) bool          // t may serve another holder at this moment
	alone(t *Ticket) bool        // nobody outside this line is known to wait
	rests(t *Ticket) rest        // whether t, which serves nobody, may stay
	answer(c *Call)              // end the wait of c
	serves(t *Ticket, g *group)  // record that t will serve g, and nobody else
	lost(h *Holder)              // end the handles of h, which has lost the lock
}

// The errors of a line.
var (
	errBusy = queue.ErrBusy
	errGone = conn.ErrNodeGone
)

// maxStanding bounds how many permits' tickets stand in ZooKeeper's line.
const maxStanding = 256

// line records which calls wait for a lock in this process and which hold it. It decides
// which call is next, which ticket serves which group, and what happens to a ticket. It
// uses no mutex, time, context or request: its methods report events to it, and it calls
// its hands. The cost of a method does not depend on how many calls wait or hold.
type line struct {
	hands

	waits groups // in order
	edge  *group // the last group in front; those in front may stand in ZooKeeper's line
	sum   int64  // the weights of the permits in front whose nodes add to the line
	stood int    // the number of these permits
	tail  *group // the readers that the next reader joins
	count int    // the number of waiting calls

	held   holders               // the oldest first, including lost ones that still have levels
	live   int                   // the number of those in held that are not lost
	single *Holder               // the one in held that holds alone, or did so until its loss and keeps its place
	joined *Holder               // the newest in held that readers share
	owners map[string][]*Holder  // those in held, by owner
	asking map[string]*list.List // of *group, in order: those that wait, by owner
	owed   int                   // the number of those in held that are lost
	moving int                   // tickets on their way to a turn

	resting *Ticket // it lingers: nobody holds or waits, and no other ticket is on its way

	tickets int64 // the number of tickets made
}

func (l *line) first() *group {
	return l.waits.first
}

// before returns the number of calls that wait before a group.
func (l *line) before(g *group) (n int) {
	for o := l.first(); o != g; o = l.next(o) {
		n += len(o.calls)
	}
	return n
}

func (l *line) next(g *group) *group {
	if g == nil {
		return l.first()
	}
	return g.next
}

// join adds a call whose owner does not hold to the line, which grants it, refuses it, or
// lets it wait.
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
	g := newGroup(c)
	l.waits.add(g)
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

// settle moves the groups that may hold next to the front, and makes sure that each of
// them has a ticket or waits for the holder's.
func (l *line) settle() {
	for g := l.first(); g != nil && g.Kind == Permit && g.Weight == 0; g = l.first() {
		l.remove(g)
		l.answerAll(g) // it asks for nothing but its turn
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

// advance adds g to the front. g is in front already or comes after it.
func (l *line) advance(g *group) {
	if g.front {
		return
	}
	l.edge, g.front = g, true
	l.adds(g, true)
}

// adds records whether the node of a permit in front adds to the nodes that stand. The
// renewed node of a holder does not.
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

// blocked reports whether a lost holder keeps its place here. This process then has no
// node in ZooKeeper's line, because the node would block the other sessions for nothing.
func (l *line) blocked() bool { return l.single != nil && l.single.lost != nil }

// admits reports whether g, the group after the front, may join the front: the first
// group may, and so may readers after readers, and permits that could be granted
// together.
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
	if l.retake(g) {
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

// passes reports whether the lock goes from h, which holds alone, to g without a turn
// when h ends.
func (l *line) passes(h *Holder, g *group) bool {
	// The ticket of a writer can't be lent while its own readers go on.
	return l.held.n == 1 && h.ticket.lends(h, g.Want)
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

// refresh starts the renewal of a ticket.
func (l *line) refresh(t *Ticket, alone bool, weight int64) {
	l.move(t)
	t.renewed, t.alone, t.weight = true, alone, weight
	l.adds(t.group, false)
	l.renew(t, alone)
}

// drop removes a ticket from those on their way to a turn.
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

// remove removes a group from the line.
func (l *line) remove(g *group) {
	if l.edge == g {
		l.edge = g.prev
	}
	l.adds(g, false)
	l.waitsNoMore(g)
	if l.tail == g {
		l.tail = nil
	}
	g.front = false
	l.count -= len(g.calls)
	l.waits.remove(g)
}

func (l *line) answerAll(g *group) {
	for _, c := range g.calls {
		c.group = nil
		l.answer(c)
	}
}
