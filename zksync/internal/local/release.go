package local

// end is told that levels or a handle of h were given back. It reports whether the
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
	case t.moving: // it is being renewed for those who wait
	default:
		if g, now := l.heir(h); g != nil {
			l.handOver(h, g, now)
		} else {
			l.leave(t)
		}
	}
	l.settle()
	return true
}

// heir returns who gets the ticket of a holder that has ended. Of permits that may be the
// first one, though another ticket is renewed for it: if it needs not wait for this one.
func (l *line) heir(h *Holder) (heir *group, now bool) {
	g := l.first()
	if h.kind != Permit {
		if g != nil && l.moving == 0 && l.held.Len() == 0 && h.kind.Alone() && h.ticket.lends(h, g.Want) {
			return g, false
		}
		return nil, false
	}
	if t := h.ticket; g != nil && g.ticket != nil && g.ticket.renewed && g.Weight == t.weight && t.lends(h, g.Want) &&
		t.turns < min(h.handoff, g.Handoff) && l.fit(t) {
		return g, true
	}
	for g != nil && g.ticket != nil && g.ticket.renewed {
		g = l.next(g) // it gets another one
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
			l.leave(t) // others may come between now: g stands in line already
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

// reuse gives a ticket in line, whose group needs it no more, to the group that came
// after that one; of permits this one's goes to the next, and so on, so that each
// moves up. What can't be used leaves.
func (l *line) reuse(t *Ticket, g *group) {
	if t.holder != nil {
		return // it stays under its holder
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

// lose ends a holder whose node or session is gone. Handles end at once. Levels
// have nobody to tell: a holder that was alone keeps its place here until they have
// been given back, others are owed and hold up nobody.
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

// retreat takes everybody out of ZooKeeper's line.
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

// quit takes out a call that gives up.
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

// failed is told that a ticket has ended without a turn. Those who had it made end
// with err; those for whom it was to be renewed, and all if err is nil, stand in line
// with another one before it leaves.
func (l *line) failed(t *Ticket, err error) {
	if !t.moving {
		t.renewed = false // for nobody any more, or it has left
		return
	}
	g, renewed := t.group, t.renewed
	l.drop(t)
	t.renewed = false
	if t.holder != nil {
		t.seen = true // nobody else is to try
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

// pays returns the holder of which a level is given back next: what was lost first, then
// the oldest that reads, or the newest permit. For an owner it is one of the owner's, or
// if there is none one of nobody's; for nobody it is an owner's only if there is no
// other. A permit whose call has not returned
// is nobody's to give back: if the call fails after all, it gives back the whole.
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
	for e := l.held.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Holder)
		if h.levels == 0 || h.kind == Permit && !h.taken || !ok(h.kind) || h.others(owner) {
			continue
		}
		if better(h) {
			paid = h
		}
		if h.kind != Permit && paid.owner == owner && (paid.lost != nil || l.owed == 0) {
			break // nobody later comes before it
		}
	}
	return paid
}
