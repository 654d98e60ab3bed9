package local

import (
	"container/list"
	"math"
	"slices"
)

// mine returns a holder of an owner, of the kind asked for if there is one: an
// owner that writes may read beside that.
func (l *line) mine(owner string, kind Kind) (found *Holder) {
	if owner == "" {
		return nil
	}
	for _, h := range l.owners[owner] {
		if h.kind == kind {
			return h
		}
		if found == nil {
			found = h
		}
	}
	return found
}

// entry is how a call enters a lock that its owner holds.
type entry int

const (
	same   entry = iota // on the holder, as another level or handle of it
	beside              // on a holder that reads beside the one that writes
	never               // not at all: it would wait for its own owner
)

// entry returns how a call of the owner of h enters.
func (h *Holder) entry(c *Call) entry {
	switch reads := c.Kind == Read; {
	case reads == (h.kind == Read):
		return same
	case reads && h.kind == Write:
		return beside
	}
	return never // an owner that reads wants to write, or a mutex's owner wants to read
}

// enter has a call of the owner of h enter again.
func (l *line) enter(h *Holder, c *Call) {
	c.enters = true
	l.admit(h, c)
	l.settle() // who waited for a hand-over may have to stand in line now
}

// downgrade has a call of an owner that writes read as well, on a ticket that stands
// beside that of the write and goes on when the write has ended.
func (l *line) downgrade(t *Ticket, c *Call) {
	// The read node shows the fence of the write. Both tickets serve this owner alone.
	t.seen, l.single.ticket.seen = true, true
	l.admit(l.newHolder(t, c), c)
	t.used = true
	l.settle()
}

// waitsFor notes that a group waits for an owner.
func (l *line) waitsFor(g *group) {
	if g.Owner == "" {
		return
	}
	if l.asking == nil {
		l.asking = make(map[string]*list.List)
	}
	all := l.asking[g.Owner]
	if all == nil {
		all = list.New()
		l.asking[g.Owner] = all
	}
	g.asks = all.PushBack(g)
}

// waitsNoMore notes that a group no longer waits for an owner.
func (l *line) waitsNoMore(g *group) {
	if g.asks == nil {
		return
	}
	all := l.asking[g.Owner]
	all.Remove(g.asks)
	g.asks = nil
	if all.Len() == 0 {
		delete(l.asking, g.Owner)
	}
}

// gather has the calls of an owner that wait enter with the call that its new holder was
// made for: calls of one owner never wait for each other. Those that take a request first
// (a handle, or a read beside a write) are answered with the holder that they are to
// enter, which lasts until then. Those that can't enter go on waiting until that call has
// taken its grant: if it gives the grant back, their owner has never held the lock.
func (l *line) gather(h *Holder) {
	all := l.asking[h.owner]
	if all == nil {
		return
	}
	for e := all.Front(); e != nil; {
		c := e.Value.(*group).calls[0]
		e = e.Next()
		how := h.entry(c)
		if how == never {
			continue
		}
		l.take(c)
		if how == same && !c.Want.Handle {
			c.enters = true
			l.admit(h, c)
			continue
		}
		h.entering++
		c.into = h
		l.answer(c)
	}
}

// accept records that a call has taken the grant of h. The calls of the owner that still
// wait can't enter, and end.
func (l *line) accept(h *Holder) {
	h.accepted = true
	l.forbid(h.owner, math.MaxInt64)
}

// enterable returns the holder of an owner that a call of the owner can enter, or that
// keeps the call from waiting, or nil. A call that can't enter waits like any other while
// it is not certain that its owner will hold: see gather.
func (l *line) enterable(c *Call) *Holder {
	h := l.mine(c.Owner, c.Kind)
	if h != nil && !h.accepted && h.entry(c) == never {
		return nil
	}
	return h
}

// holds reports whether an owner knows that it holds.
func (l *line) holds(owner string) bool {
	return slices.ContainsFunc(l.owners[owner], func(h *Holder) bool { return h.accepted })
}

// forbid ends the calls of an owner that wait, up to the one with the number upto: the
// owner has got another lock that shares a path with this one. A later call has looked
// for that lock itself, which may have been given back by then.
func (l *line) forbid(owner string, upto int64) {
	for c := l.asks(owner); c != nil && c.came <= upto; c = l.asks(owner) {
		l.take(c)
		c.err, c.peer = ErrDeadlock, nil
		l.answer(c)
	}
	l.settle()
}

// asks returns the first call of an owner that waits.
func (l *line) asks(owner string) *Call {
	all := l.asking[owner]
	if all == nil {
		return nil
	}
	return all.Front().Value.(*group).calls[0]
}

// take takes a call that waits alone in its group out of the line.
func (l *line) take(c *Call) {
	g := c.group
	t, then := g.ticket, l.next(g)
	if t != nil {
		l.drop(t)
	}
	l.remove(g)
	c.group = nil
	if t != nil {
		l.reuse(t, then)
	}
}

// entered is told that a call which gather has answered has entered h, or will not.
func (l *line) entered(h *Holder) (over bool) {
	if h.lost != nil {
		return false // its end has been told
	}
	h.entering--
	return h.over()
}
