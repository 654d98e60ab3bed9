package local

// turn grants the lock to the group of a ticket whose turn has come. A ticket that has
// left meanwhile serves nobody. If turn finds that holders have lost the lock, it grants
// nothing and returns true: the caller must report these losses and call turn again.
func (l *line) turn(t *Ticket) (again bool) {
	for h := l.contradicted(t); h != nil && t.moving; h = l.contradicted(t) {
		l.lose(h, errGone) // its node must be gone, since two can't be first
		again = true
	}
	if again {
		return true
	}
	if t.renewed && t.alone {
		t.turns = 0
	}
	if !t.moving {
		t.renewed = false // it lingers, or was renewed for nobody any more
		return false
	}
	l.grant(t)
	l.settle()
	return false
}

// contradicted returns a live holder that can't exist while it is the turn of t.
func (l *line) contradicted(t *Ticket) *Holder {
	if h := l.single; h != nil {
		if h.lost == nil && h.ticket != t {
			return h
		}
		return nil
	}
	for h := l.held.first; h != nil && t.kind.Alone() && l.live > 0; h = h.next {
		if h.lost == nil && h.ticket != t {
			return h
		}
	}
	return nil
}

// grant serves the group of a ticket.
func (l *line) grant(t *Ticket) {
	g := t.group
	l.drop(t)
	t.renewed = false
	l.remove(g)
	if t.used && g.shares() {
		t.turns += len(g.calls)
	}
	h := t.holder
	if h == nil {
		h = l.newHolder(t, g.calls[0])
	}
	for _, c := range g.calls {
		c.group = nil
		l.admit(h, c)
	}
	t.used, t.rested = true, false
	if h.owner != "" {
		l.gather(h)
	}
}

// admit adds a call to a holder and answers the call.
func (l *line) admit(h *Holder, c *Call) {
	h.admit(&c.Want)
	h.known = true
	c.holder = h
	l.answer(c)
}

// newHolder makes a holder with a ticket for a call and the calls of its group.
func (l *line) newHolder(t *Ticket, c *Call) *Holder {
	h := &Holder{ticket: t, kind: c.Kind, owner: c.Owner, shared: c.shares(), handoff: c.Handoff, linger: c.Linger, first: c}
	if c.Quiet {
		h.first = nobody
	}
	l.seat(h)
	if h.owner != "" {
		if l.owners == nil {
			l.owners = make(map[string][]*Holder)
		}
		l.owners[h.owner] = append(l.owners[h.owner], h)
	}
	return h
}

// seat adds a holder to the line.
func (l *line) seat(h *Holder) {
	h.ticket.holder = h
	l.held.add(h)
	l.live++
	switch {
	case h.kind.Alone():
		l.single = h
	case h.shared:
		l.joined = h
	}
}

// discard removes a holder from the line.
func (l *line) discard(h *Holder) {
	l.held.remove(h)
	if h.lost == nil {
		l.live--
	} else {
		l.owed--
	}
	if l.single == h {
		l.single = nil
	}
	if l.joined == h {
		l.joined = nil
	}
	if h.owner == "" {
		return
	}
	mine := l.owners[h.owner]
	for i, o := range mine {
		if o == h {
			mine = append(mine[:i:i], mine[i+1:]...)
			break
		}
	}
	if len(mine) == 0 {
		delete(l.owners, h.owner)
	} else {
		l.owners[h.owner] = mine
	}
}
