package local

// A ticket lingers when its last holder has ended and nobody waits: it stays in
// ZooKeeper's line without a holder, is lent to the next call that it suits, and leaves
// as soon as anybody else wants the lock.

// rest is whether a ticket that serves nobody may stay in line.
type rest int

const (
	leaves rest = iota // no: somebody else wants the lock, or may want it
	unsure             // yes, if a renewal finds nobody else in line
	stays              // yes, and it may serve a call at this moment
)

// suits reports whether a ticket that lingers may serve a call that wants w.
func (t *Ticket) suits(w *Want) bool {
	return t.kind == w.Kind && !w.Handle && w.Handoff > 0 && t.agrees(w)
}

// lingers has the ticket of a holder that has ended linger, and reports whether it does.
func (l *line) lingers(h *Holder) bool {
	t := h.ticket
	if h.linger <= 0 || h.handoff == 0 || t.seen || t.fixed || t.renewed || l.held.n > 0 || l.first() != nil {
		return false
	}
	how := l.rests(t)
	if how == leaves {
		return false
	}
	l.resting, t.rested = t, true
	if how == unsure {
		t.renewed, t.alone = true, true
		l.renew(t, true)
	}
	return true
}

// retake gives the ticket that lingers to g, the first group, and reports whether it
// does. A ticket that can't serve g leaves.
func (l *line) retake(g *group) bool {
	t := l.resting
	if t == nil {
		return false
	}
	if !t.suits(g.Want) {
		l.yield()
		return false
	}
	how := unsure
	if !t.renewed {
		how = l.rests(t)
	}
	if how == leaves {
		l.yield()
		return false
	}
	l.resting = nil
	l.assign(t, g)
	switch {
	case t.renewed: // it is granted when the answer comes
		l.move(t)
	case how == unsure, t.turns >= g.Handoff && !l.nobody(t):
		l.refresh(t, true, g.Weight)
	default:
		if !g.shares() { // else grant counts
			t.turns++
		}
		l.grant(t)
	}
	return true
}

// lend has the ticket that lingers serve a holder without a call, if it may do so without
// a renewal.
func (l *line) lend(h *Holder) bool {
	t := l.resting
	if t.renewed || l.rests(t) != stays || t.turns >= h.handoff && !l.nobody(t) {
		return false
	}
	t.turns++
	t.used, t.rested = true, false
	l.resting = nil
	l.seat(h)
	return true
}

// lull has the ticket of the only holder linger again, if it may do so without a renewal.
// The holder has one level.
func (l *line) lull(h *Holder) bool {
	t := h.ticket
	if l.held.n != 1 || h.lost != nil || h.linger <= 0 || t.seen || t.renewed || l.first() != nil || l.rests(t) != stays {
		return false
	}
	h.levels = 0
	l.discard(h)
	t.holder = nil
	l.resting, t.rested = t, true
	return true
}

// nobody reports whether nobody else is known to be in line with a ticket, which then
// has its whole budget again.
func (l *line) nobody(t *Ticket) bool {
	if !l.alone(t) {
		return false
	}
	t.turns = 0
	return true
}

// yield has the ticket that lingers leave, if there is one.
func (l *line) yield() {
	if t := l.resting; t != nil {
		l.resting = nil
		l.leave(t)
	}
}
