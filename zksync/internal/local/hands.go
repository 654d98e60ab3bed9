package local

import (
	"context"
	"errors"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// The methods of hands, except stand. They are called with the lock's mutex held, and
// their requests are made in other goroutines.

var errSuperseded = errors.New("nobody waits for this node")

// renew makes a ticket fit to serve another group: the node gets the group's weight and a
// new watch, and the session is proven alive. With alone, which means that the budget of
// hand-overs is used up, renew fails unless nobody else is in line: then going to the back
// of the line would change nothing. The call that gives the lock back waits for the answer
// as it would for a deletion, because the answer shows whether the lock was lost before.
func (l *Lock) renew(t *Ticket, alone bool) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t.cancel = cancel
	t.rel = newRenewal()
	l.ref(1)
	go l.renews(ctx, t, t.pub, alone)
}

// renews makes the requests of a renewal.
func (l *Lock) renews(ctx context.Context, t *Ticket, pub *published, alone bool) {
	defer l.Leave()
	pub.awaitWritten(ctx)
	var err error
	if t.kind == Permit {
		err = t.e.Shrink(func() int64 { return l.weight(t) }, nil)
	}
	var lease queue.Lease
	if err == nil {
		lease, err = t.e.Renew(ctx, alone)
	}
	l.mu.Lock()
	l.renewed(t, lease, err)
	l.finish()
}

// renewed decides what becomes of a ticket after its renewal.
func (l *Lock) renewed(t *Ticket, lease queue.Lease, err error) {
	own := t.lease.Own()
	t.rest()
	t.asked = t.asked || err == nil && lease.Asked()
	if err == nil && t.rested && t.asked {
		err = queue.ErrNotAlone // somebody has asked for the lock
	}
	// A ticket that lingers leaves after an error, and what the deletion comes to counts.
	refused := err != nil && !gone(err) && l.line.resting == t
	if !t.left && !refused && !errors.Is(err, queue.ErrNotAlone) {
		t.rel.is(err) // else the deletion has the answer
		t.rel = nil
	}
	switch h := t.holder; {
	case t.left && t.given: // the deletion is under way
	case t.left:
		l.remove(t)
	case err == nil:
		if t.lease = lease; lease.Own() != own {
			l.todo.rest = append(l.todo.rest, func() { l.follow(t, lease) })
		}
		if l.line.resting == t {
			l.heed(t)
		}
		l.turn(t)
	case errors.Is(err, queue.ErrNotAlone):
		// The session goes to the back of the line before it leaves the front.
		// Otherwise the next session might find itself alone meanwhile, and exceed
		// its budget of hand-overs.
		l.newest, l.behind = nil, true
		l.line.failed(t, nil)
		l.behind = false
	case h != nil && gone(err):
		l.line.lose(h, err)
	default:
		l.line.failed(t, err)
	}
	t.pub.settles()
}

// weight returns the weight that a ticket's node should have now, or 0 if the node is to
// be deleted. Several calls may give back parts of a permit at once, and replace the node
// in any order.
func (l *Lock) weight(t *Ticket) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.left {
		return 0
	}
	return t.weight
}

// leave starts the deletion of a ticket: at once, or when the request that moves it has
// returned.
func (l *Lock) leave(t *Ticket) {
	if t.left {
		return
	}
	t.left = true
	t.stay.stop()
	l.t.expect()
	if l.behind {
		t.after = l.newest
	}
	if t == l.ending && t.cancel == nil {
		return // vacate deletes it
	}
	l.leavers = append(l.leavers, t)
	if t.cancel != nil {
		t.cancel(errSuperseded)
		return
	}
	if t.after != nil {
		t.after.e.Swap(t.e)
	}
	l.remove(t)
}

// afterLeavers returns a function that waits until the nodes of the tickets that have left
// are gone, or nil if there are none. A call that does not wait for its turn runs it
// first: it must not be refused because of a place in line that nobody needs any more.
func (l *Lock) afterLeavers() func(context.Context) {
	if len(l.leavers) == 0 {
		return nil
	}
	var all []<-chan struct{}
	for _, t := range l.leavers {
		all = append(all, t.gone.wait())
	}
	return func(ctx context.Context) {
		for _, gone := range all {
			select {
			case <-gone:
			case <-ctx.Done():
				return
			}
		}
	}
}

// remove deletes the nodes of a ticket that has left and rests, in a goroutine that
// begins once the contexts of lost holders have ended.
func (l *Lock) remove(t *Ticket) {
	l.ref(1)
	var placed, gone <-chan struct{}
	if o := t.after; o != nil {
		placed, gone = o.placed.wait(), o.gone.wait()
	}
	l.todo.rest = append(l.todo.rest, func() {
		go func() {
			defer l.Leave()
			if placed != nil {
				select {
				case <-placed:
				case <-gone:
				}
			}
			l.gone(t, l.t.remove(t.e, nil))
		}()
	})
}

// gone records the result of a deletion.
func (l *Lock) gone(t *Ticket, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.rel.is(err)
	t.gone.give()
	if i := slices.Index(l.leavers, t); i >= 0 {
		l.leavers = slices.Delete(l.leavers, i, i+1)
	}
}

// serves records the group that a ticket serves from now on. The nodes will name one of
// its calls, and the calls are notified of the node that the ticket waits for.
func (l *Lock) serves(t *Ticket, g *group) {
	l.pass(t, g.calls[0])
	l.notify(t)
}

// answer ends the wait of a call.
func (l *Lock) answer(c *Call) {
	if h := c.holder; h != nil {
		l.granted(c, h)
	}
	l.wakes(c)
}

// wakes ends the wait of a call once the mutex is free. A call that has not begun to wait
// sees the answer by itself.
func (l *Lock) wakes(c *Call) {
	if !c.queued {
		return
	}
	if c.woken = nil; l.wake == nil {
		l.wake = c
	} else {
		l.lastWake.woken = c
	}
	l.lastWake = c
}

// wakeAll sends the answers. Each call may be used for something else as soon as it has
// its own.
func wakeAll(c *Call) {
	for c != nil {
		next := c.woken
		c.ready <- struct{}{} // has room, since a call is answered once
		c = next
	}
}

// granted completes the grant of a call: counters, traces and the handle.
func (l *Lock) granted(c *Call, h *Holder) {
	if h.start.IsZero() {
		h.start = l.time()
	}
	if l.line.held.n > l.held {
		l.count() // before the call returns
	}
	if !c.enters {
		l.t.Acquired.Add(1)
		if c.Handed = h.ticket.used && !h.ticket.rested; c.Handed {
			l.t.Handoffs.Add(1)
		}
	}
	if h.shared {
		l.joins(h.ticket, c)
	}
	h.ticket.peer = nil // the node that it waited for is gone
	if h.kind == Permit {
		h.ticket.pub.settles()
	}
	if c.Want.Handle {
		c.Handle = new(Handle)
		l.opens(h, c.Handle)
	}
}
