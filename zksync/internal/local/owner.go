package local

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

// enter has a call of the owner of h enter again.
func (l *line) enter(h *Holder, c *Call) {
	c.enters = true
	l.admit(h, c)
	l.settle() // who waited for a hand-over may have to stand in line now
}

// downgrade has a call of an owner that writes read as well, on a ticket that stands
// beside that of the write and goes on when the write has ended.
func (l *line) downgrade(t *Ticket, c *Call) {
	t.seen = true // the owner alone is served by it
	l.admit(l.newHolder(t, c), c)
	t.used = true
	l.settle()
}
