package local

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// How calls end without the lock, and holders by a loss.

// abandon takes a call out that ends without the lock. What it was granted
// meanwhile is given back, and whoever is next is woken.
func (l *Lock) abandon(c *Call) {
	l.mu.Lock()
	if c.group == nil {
		l.mu.Unlock()
		switch {
		case c.err != nil:
		case c.into != nil:
			l.entered(c.into)
			c.into = nil
		case c.holder != nil: // none of a call for no permits
			l.Undo(c)
		}
		return
	}
	t := c.group.ticket
	l.note(c, l.line.before(c.group))
	l.line.quit(c)
	leaves := t != nil && t.left
	l.finish()
	if leaves {
		brief(t.gone)
	}
}

// note notes where a call stands, with so many calls before its group, for the error that
// it ends with.
func (l *Lock) note(c *Call, before int) {
	if c.Kind == Permit && c.Weight == 0 {
		return // it stands nowhere
	}
	c.Position = l.position(c, before)
	if t := l.ticketFor(c); t != nil {
		c.Node = t.e.Last()
	}
}

// noted returns all calls that wait, in order, with where each of them stands.
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

// ticketFor returns the ticket that stands for a call that waits, or for those before
// it.
func (l *Lock) ticketFor(c *Call) *Ticket {
	if t := c.group.ticket; t != nil {
		return t
	}
	if g := l.line.first(); g != nil {
		return g.ticket
	}
	return nil
}

// position is where a call stands that waits: behind those before its group here, and
// behind those before the first of us elsewhere; 0 as long as that is not known.
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

// Undo gives back what a call was granted that ends with an error.
func (l *Lock) Undo(c *Call) {
	h := c.holder
	c.holder = nil
	l.mu.Lock()
	if h.shared {
		h.ticket.pub.leaves(c.Name)
	}
	switch {
	case h.over():
		l.mu.Unlock()
		return // lost meanwhile, and free already
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
	b.Run()
	if b.Deletion != nil {
		brief(b.Deletion.done)
	}
}

// refuse ends the waits that can be told with err; with all, every wait, and has the
// holders be lost by it.
func (l *Lock) refuse(all bool, err error) deferred {
	l.mu.Lock()
	for _, c := range slices.Backward(l.noted()) {
		if c.group == nil || !all && c.Must {
			continue // answered meanwhile, or not to be told
		}
		c.err = err
		l.line.quit(c)
		close(c.ready)
	}
	if all {
		for _, h := range l.live() {
			l.line.lose(h, err)
		}
	}
	return l.unlock()
}

// live returns the holders that are not lost.
func (l *Lock) live() (all []*Holder) {
	for e := l.line.held.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*Holder); h.lost == nil {
			all = append(all, h)
		}
	}
	return all
}

// sessionOver ends the holders whose session is over.
func (l *Lock) sessionOver() deferred {
	l.mu.Lock()
	st, _ := l.t.Conn.State()
	for _, h := range l.live() {
		if h.ticket.e.Session() != st.Session {
			l.line.lose(h, conn.ErrSessionOver)
		}
	}
	return l.unlock()
}

// lose ends a holder because the lock is lost.
func (l *Lock) lose(h *Holder, why error) { l.loses(h, why).run() }

// loses is lose but for what had to wait, which it returns.
func (l *Lock) loses(h *Holder, why error) deferred {
	l.mu.Lock()
	l.line.lose(h, why)
	return l.unlock()
}

// lost is told by the line of a loss: it ends the handles, and has the program told.
func (l *Lock) lost(h *Holder) {
	why := h.lost
	if st, _ := l.t.Conn.State(); errors.Is(why, conn.ErrNodeGone) && st.Session != h.ticket.e.Session() {
		why = conn.ErrSessionOver // which is why it is gone
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
	if told := h.first.Ended(h.lost, h.revoked, time.Since(h.start)); told != nil {
		later(told)
	}
	if h.levels > 0 {
		node, err := h.ticket.e.Node(), h.lost
		later(func() { l.t.Observer.LostUnseen(l.path, node, err) })
	}
}

// Abort ends the wait of a call whose goroutine has left it in a panic.
func (l *Lock) Abort(c *Call) {
	if c.waits {
		l.left(c)
	}
}

// Settle ends a call: what it was granted is kept, or given back.
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
