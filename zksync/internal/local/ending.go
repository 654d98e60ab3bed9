package local

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// This file ends calls without the lock, and holders by a loss.

// abandon removes a call that ends without the lock. If the call was granted
// meanwhile, abandon gives the grant back and wakes the next call.
func (l *Lock) abandon(c *Call) {
	l.mu.Lock()
	if c.group == nil {
		l.mu.Unlock()
		if c.err == nil {
			c.peer = nil // granted: it stood behind nobody any more
		}
		switch {
		case c.err != nil:
		case c.into != nil:
			l.entered(c.into)
			c.into = nil
		case c.holder != nil: // a call for no permits has no holder
			l.Undo(c)
		}
		return
	}
	t := c.group.ticket
	l.note(c, l.line.before(c.group))
	l.line.quit(c)
	var gone <-chan struct{}
	if t != nil && t.left {
		gone = t.gone.wait()
	}
	l.finish()
	if gone != nil {
		brief(gone)
	}
}

// note records the position of a call, with before calls ahead of its group, and the
// node it stands behind, for the error that ends the call.
func (l *Lock) note(c *Call, before int) {
	if c.Kind == Permit && c.Weight == 0 {
		return // it has no position
	}
	c.Position, c.peer = l.position(c, before), l.before(c)
	if t := l.ticketFor(c); t != nil {
		c.Node = t.e.Last()
	}
}

// noted returns all waiting calls in order, each with its position recorded.
func (l *Lock) noted() (calls []*Call) {
	for g := l.line.first(); g != nil; g = l.line.next(g) {
		before := len(calls)
		for _, c := range g.calls {
			l.note(c, before)
		}
		calls = append(calls, g.calls...)
	}
	return calls
}

// ticketFor returns the ticket of a waiting call, or that of the first call before it.
func (l *Lock) ticketFor(c *Call) *Ticket {
	if t := c.group.ticket; t != nil {
		return t
	}
	if g := l.line.first(); g != nil {
		return g.ticket
	}
	return nil
}

// position returns the position in line of a waiting call: the position of this
// process's first node plus the calls before the call's group here. It returns 0 if the
// node's position is not known yet.
func (l *Lock) position(c *Call, before int) int {
	n := 1
	t := l.ticketFor(c)
	if t != nil && !t.renewed {
		if n = t.e.Position(); n == 0 {
			return 0
		}
	}
	if c.group.ticket != nil {
		return n
	}
	return n + before
}

// Undo gives back the grant of a call that ends with an error.
func (l *Lock) Undo(c *Call) {
	h := c.holder
	c.holder = nil
	l.mu.Lock()
	h.linger = 0 // a call that fails leaves no node
	if h.shared {
		h.ticket.pub.leaves(c.Name)
	}
	if other := l.exchanged(c, h); other != nil {
		h = other
		if h.shared {
			h.ticket.pub.leaves(Name{})
		}
	}
	switch {
	case h.over():
		l.mu.Unlock()
		return // lost meanwhile, and already free
	case c.Want.Handle:
		if c.Handle.ended != nil {
			l.mu.Unlock()
			return
		}
		l.shut(c.Handle, context.Canceled)
	case h.kind == Permit && !c.enters:
		h.levels = 0
	default:
		h.levels--
	}
	b := l.vacate(h, true)
	l.finish()
	b.Run(conn.Soon)
	if b.Deletion != nil {
		brief(b.Deletion.done)
	}
}

// exchanged returns the holder to which the level of a call that gives its grant back
// belongs now, or nil if that is still its own. An Unlock ends any level of the read side:
// it may have ended the level of a call that had not returned, and left its own.
func (l *Lock) exchanged(c *Call, h *Holder) *Holder {
	if !h.over() || h.kind != Read || c.Want.Handle {
		return nil
	}
	other := l.line.pays(isRead, h.owner)
	if other == nil || other.owner != h.owner {
		return nil
	}
	return other
}

// refuse ends, with err, the waits of calls that can return an error. If all is set, it
// ends every wait, and all holders lose the lock with err.
func (l *Lock) refuse(all bool, err error) deferred {
	l.mu.Lock()
	l.line.yield()
	for _, c := range slices.Backward(l.noted()) {
		if c.group == nil || !all && c.Must {
			continue // answered meanwhile, or without an error to return
		}
		c.err = err
		l.line.quit(c)
		l.wakes(c)
	}
	if all {
		for _, h := range l.live() {
			l.line.lose(h, err)
		}
	}
	return l.unlock()
}

// live returns the holders that have not lost the lock.
func (l *Lock) live() (all []*Holder) {
	for h := l.line.held.first; h != nil; h = h.next {
		if h.lost == nil {
			all = append(all, h)
		}
	}
	return all
}

// sessionOver ends the holders whose session is over.
func (l *Lock) sessionOver() deferred {
	l.mu.Lock()
	st, _ := l.t.Conn.State()
	if t := l.line.resting; t != nil && t.e.Session() != st.Session {
		l.line.yield()
	}
	for _, h := range l.live() {
		if h.ticket.e.Session() != st.Session {
			l.line.lose(h, conn.ErrSessionOver)
		}
	}
	return l.unlock()
}

// lose ends a holder that has lost the lock.
func (l *Lock) lose(h *Holder, why error) { l.loses(h, why).run() }

// loses does the same as lose, but returns the deferred work instead of running it.
func (l *Lock) loses(h *Holder, why error) deferred {
	l.mu.Lock()
	l.line.lose(h, why)
	return l.unlock()
}

// lost ends the handles of a holder that the line reports as lost, and defers the
// calls that report the loss to the program.
func (l *Lock) lost(h *Holder) {
	why := h.lost
	if st, _ := l.t.Conn.State(); errors.Is(why, conn.ErrNodeGone) && st.Session != h.ticket.e.Session() {
		why = conn.ErrSessionOver // the reason why the node is gone
	}
	h.lost = l.t.Observer.Lost(why)
	l.t.Losses.Add(1)
	h.unguard()
	for c := range h.open {
		c.ended = h.lost
		if c.onEnd != nil {
			l.todo.ends = append(l.todo.ends, func() { c.onEnd(h.lost) })
		}
	}
	h.open = nil
	later := func(f func()) { l.todo.rest = append(l.todo.rest, func() { l.t.Observer.Later(f) }) }
	if ended := h.first.Ended(h.lost, h.revoked, time.Since(h.start)); ended != nil {
		later(ended)
	}
	if h.levels > 0 {
		node, err := h.ticket.e.Node(), h.lost
		later(func() { l.t.Observer.LostUnseen(l.path, node, err) })
	}
}

// Abort ends the wait of a call whose goroutine panicked.
func (l *Lock) Abort(c *Call) {
	if c.waits {
		l.left(c)
	}
}

// Settle ends a call. It gives the grant back unless kept is set.
func (l *Lock) Settle(c *Call, kept bool) {
	switch {
	case c.holder == nil:
	case !kept:
		l.Undo(c)
	case c.Kind == Permit:
		l.mu.Lock()
		c.holder.taken = true
		l.mu.Unlock()
	}
}
