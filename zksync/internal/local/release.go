package local

// end is called after levels or a handle of h were given back. It reports whether the
// holder has ended.
func (l *line) end(h *Holder) bool {
	if !h.over() {
		return false
	}
	l.discard(h)
	t := h.ticket
	t.holder = nil
	switch {
	case h.lost != nil: // its ticket has left
	case t.moving: // it is being renewed for waiting groups
	default:
		if g, now := l.heir(h); g != nil {
			l.handOver(h, g, now)
		} else if !l.lingers(h) {
			l.leave(t)
		}
	}
	l.settle()
	return true
}

// lone reports whether h is the only holder, lives, and has nothing but levels of nobody.
func (l *line) lone(h *Holder) bool {
	return l.held.n == 1 && h.owner == "" && h.handles == 0 && h.entering == 0 && h.lost == nil
}

// pass does the same as end for the last level of a lone holder, if the lock can be handed
// over at once. Otherwise it does nothing and returns false.
func (l *line) pass(h *Holder) bool {
	t, g := h.ticket, l.first()
	if g == nil || l.moving > 0 || g.ticket != nil || !h.kind.Alone() || !t.lends(h, g.Want) ||
		t.turns >= min(h.handoff, g.Handoff) && !l.nobody(t) || !l.fit(t) {
		return false
	}
	h.levels = 0
	l.discard(h)
	t.holder = nil
	t.turns++
	l.assign(t, g)
	l.grant(t)
	l.settle()
	return true
}

// heir returns the group that gets the ticket of a holder that has ended, or nil. now
// means that the ticket needs no renewal. With permits, that may be the first group even
// if another ticket is being renewed for it.
func (l *line) heir(h *Holder) (heir *group, now bool) {
	g := l.first()
	if h.kind != Permit {
		if g != nil && l.moving == 0 && l.held.n == 0 && h.kind.Alone() && h.ticket.lends(h, g.Want) {
			return g, false
		}
		return nil, false
	}
	if t := h.ticket; g != nil && g.ticket != nil && g.ticket.renewed && g.Weight == t.weight && t.lends(h, g.Want) &&
		t.turns < min(h.handoff, g.Handoff) && l.fit(t) {
		return g, true
	}
	for g != nil && g.ticket != nil && g.ticket.renewed {
		g = l.next(g) // it gets the ticket that is being renewed
	}
	if g == nil || !g.front || g.Weight == 0 || g.Weight > h.ticket.weight || !h.ticket.lends(h, g.Want) {
		return nil, false
	}
	return g, false
}

// handOver gives the ticket of a holder that has ended to g: at once, or when it
// has been renewed.
func (l *line) handOver(h *Holder, g *group, now bool) {
	t, budget := h.ticket, min(h.handoff, g.Handoff)
	if t.turns >= budget && l.alone(t) {
		t.turns = 0
	}
	spare, then := g.ticket, l.next(g)
	if spare != nil {
		if t.turns >= budget {
			l.leave(t) // other sessions may have their turn before g, which stands in line already
			return
		}
		l.drop(spare)
	}
	l.assign(t, g)
	switch {
	case t.turns >= budget:
		l.refresh(t, true, g.Weight)
	case now, g.Weight == t.weight && l.fit(t):
		t.turns++
		l.grant(t)
	default:
		t.turns++
		l.refresh(t, false, g.Weight)
	}
	if spare != nil {
		l.reuse(spare, then)
	}
}

// reuse gives a ticket in line, whose group does not need it any more, to the group that
// came after. With permits, the ticket of that group goes to the next one, and so on, so
// that each group moves up. A ticket that serves no group leaves.
func (l *line) reuse(t *Ticket, g *group) {
	if t.holder != nil {
		return // its holder keeps it
	}
	for ; g != nil && t.serves(g); g = l.next(g) {
		old := g.ticket
		switch {
		case old != nil && old.renewed:
			continue // it gets that one
		case old != nil && (g.Kind != Permit || old.number < t.number), !g.front && (l.blocked() || !l.admits(g)):
			l.leave(t)
			return
		}
		l.advance(g)
		if old != nil {
			l.drop(old)
		}
		l.assign(t, g)
		l.move(t)
		l.adds(g, !t.renewed)
		if old == nil {
			return
		}
		t = old
	}
	l.leave(t)
}

// lose ends a holder whose node or session is gone. Handles end at once. Levels can't
// report the loss: a holder that was alone keeps its place here until its levels have
// been given back. Other lost holders are owed and block nobody.
func (l *line) lose(h *Holder, why error) {
	if h.lost != nil || h.over() {
		return
	}
	h.lost = why
	l.lost(h)
	h.handles, h.entering = 0, 0
	l.live--
	l.owed++
	if l.joined == h {
		l.joined = nil
	}
	t := h.ticket
	joiners := t.group
	l.drop(t)
	t.holder = nil
	switch {
	case h.levels == 0:
		l.discard(h)
	case l.single == h:
		l.retreat()
	}
	l.leave(t)
	if joiners != nil && joiners.front {
		l.place(joiners)
	}
	l.settle()
}

// retreat removes all waiting groups from ZooKeeper's line.
func (l *line) retreat() {
	for g := l.first(); g != nil && g.front; g = l.next(g) {
		if t := g.ticket; t != nil {
			l.drop(t)
			l.leave(t)
		}
		g.front = false
		l.adds(g, false)
	}
	l.edge = nil
}

// quit removes a call that gives up.
func (l *line) quit(c *Call) {
	g := c.group
	if g == nil {
		return // answered
	}
	if len(g.calls) == 1 {
		l.take(c)
		l.settle()
		return
	}
	named := c.index == 0
	l.count--
	g.remove(c)
	if t := g.ticket; named && t != nil && t.holder == nil {
		l.serves(t, g) // it named c
	}
}

// failed is called when a ticket has ended without a turn. If the ticket was made for its
// group, the calls end with err. If it was to be renewed for them, or if err is nil, they
// get another ticket, which stands in line before this one leaves.
func (l *line) failed(t *Ticket, err error) {
	if l.resting == t {
		t.renewed = false
		l.yield()
		return
	}
	if !t.moving {
		t.renewed = false // for nobody any more, or it has left
		return
	}
	g, renewed := t.group, t.renewed
	l.drop(t)
	t.renewed = false
	if t.holder != nil {
		t.seen = true // it must not be tried for another group
	}
	if err != nil && !renewed {
		l.remove(g)
		for _, c := range g.calls {
			c.err = err
		}
		l.answerAll(g)
	} else {
		l.place(g)
	}
	if t.holder == nil {
		l.leave(t)
	}
	l.settle()
}

// pays returns the holder whose level is given back next, among the kinds for which ok is
// true: first a lost one, then the oldest reader or the newest permit. With an owner it
// returns a holder of that owner, or if there is none one that has no owner. Without one
// it returns an owner's holder only if there is no other. It skips a permit whose call has
// not returned: if that call fails, it gives the whole permit back itself.
func (l *line) pays(ok func(Kind) bool, owner string) (paid *Holder) {
	better := func(h *Holder) bool {
		o := paid
		switch {
		case o == nil:
			return true
		case (h.owner == owner) != (o.owner == owner):
			return h.owner == owner
		case (h.lost != nil) != (o.lost != nil):
			return h.lost != nil
		}
		return h.kind == Permit // a newer one
	}
	for h := l.held.first; h != nil; h = h.next {
		if h.levels == 0 || h.kind == Permit && !h.taken || !ok(h.kind) || h.others(owner) {
			continue
		}
		if better(h) {
			paid = h
		}
		if h.kind != Permit && paid.owner == owner && (paid.lost != nil || l.owed == 0) {
			break // no later holder comes before it
		}
	}
	return paid
}
