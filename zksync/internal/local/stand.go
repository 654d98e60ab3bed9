package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// stand puts a ticket in ZooKeeper's line for a group.
func (l *Lock) stand(g *group) *Ticket {
	t := &Ticket{kind: g.Kind, weight: g.Weight, try: g.Try, cancel: noCancel}
	writes := l.t.Writes(l.terms.ACL)
	by, says := l.payload(g.calls[0], writes)
	t.fixed = !writes && by.name != (Name{})
	order := l.order(t, g, says)
	if g.Kind == Permit {
		l.orderPermit(&order, t, g.Limit)
	}
	t.e = queue.New(l.t.Conn, order)
	if t.says = writes && says != nil; by.name != (Name{}) {
		l.publishes(t, by)
	}
	l.t.track(t.e)
	l.newest = t
	l.ref(1)
	if l.joining && l.soon == nil {
		l.soon = t
	} else {
		go l.stands(t)
	}
	return t
}

// noCancel is the cancel of a ticket whose request needs no context.
func noCancel(error) {}

// ctx returns the context of a ticket that stands in line, which ends when the ticket
// leaves.
func (l *Lock) ctx(t *Ticket) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.cancel = cancel; t.left {
		cancel(errSuperseded)
	}
	return ctx
}

// order returns what the entry of a new ticket for a group is asked to do.
func (l *Lock) order(t *Ticket, g *group, says []byte) queue.Order {
	return queue.Order{
		Places:  l.terms.places(l.name, *g.Want),
		Data:    says,
		After:   l.after(g),
		Strict:  g.Strict,
		Strange: l.t.Strange,
		Stays:   l.t.Stays,
		ACL:     l.terms.ACL,
		Try:     g.Try,
		Fence:   g.Handle,
		Census:  &l.t.census,
		Blocked: func(b queue.Blocker) { l.blocked(t, b) },
		Placed:  func() { l.placed(t) },
		Of:      l,
	}
}

// orderPermit adds what only a permit's entry reports.
func (l *Lock) orderPermit(order *queue.Order, t *Ticket, limit int64) {
	t.sent = make(chan struct{})
	order.Sent = sync.OnceFunc(func() { close(t.sent) })
	order.Others = func(wait bool) {
		l.mu.Lock()
		l.crowd = &crowd{time.Now(), wait}
		l.mu.Unlock()
	}
	order.Limits = func(smallest int64) { l.t.Observer.Limits(l.path, limit, smallest) }
}

// placed records that a ticket stands in line. The entry calls it at each attempt, with
// no mutex held.
func (l *Lock) placed(t *Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.placed.give()
	if l.there != nil {
		closeOnce(l.there)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closeOnce closes a channel unless it is closed already. The caller must hold the lock's
// mutex.
func closeOnce(c chan struct{}) {
	if !isClosed(c) {
		close(c)
	}
}

// after returns what the first request for a group waits for; nil if it waits for nothing.
func (l *Lock) after(g *group) func(context.Context) {
	order := l.inOrder(g)
	if !g.Try {
		return order
	}
	gone := l.afterLeavers()
	switch {
	case gone == nil:
		return order
	case order == nil:
		return gone
	}
	return func(ctx context.Context) {
		gone(ctx)
		order(ctx)
	}
}

// inOrder returns the function that keeps the nodes of permits in the order of the calls:
// the request that makes a node waits until the one before has been sent. It does not
// wait for the answer, except for the first node's, which may have to make the lock's path.
func (l *Lock) inOrder(g *group) func(context.Context) {
	if g.Kind != Permit {
		return nil
	}
	if l.there == nil {
		l.there = make(chan struct{})
	}
	before, there := l.newest, l.there
	if before == nil || before.placed.isGiven() || before.gone.isGiven() || isClosed(there) && isClosed(before.sent) {
		return nil
	}
	placed, gone := before.placed.wait(), before.gone.wait()
	return func(ctx context.Context) {
		for _, c := range [...]chan struct{}{there, before.sent} {
			select {
			case <-c:
			case <-placed:
				return
			case <-gone:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// refusedBy returns the node that a ticket which fails with err stood behind; nil if it is
// not known. That the node is of this session shows without a request.
func (l *Lock) refusedBy(t *Ticket, err error) *Peer {
	busy := (*queue.BusyError)(nil)
	if !errors.As(err, &busy) {
		return t.peer
	}
	p := &Peer{Blocker: queue.Blocker{Path: busy.Node}}
	if of, ok := busy.Of.(*Lock); ok && of.t == l.t { // else another session's of this process
		st, _ := l.t.Conn.State()
		p.Local, p.Stat.EphemeralOwner = true, st.Session
	}
	return p
}

// stands waits for the turn of a ticket in ZooKeeper's line.
func (l *Lock) stands(t *Ticket) { l.stood(t, t.e.Stand(l.ctx(t))) }

// standSoon puts a ticket in ZooKeeper's line. The caller's goroutine sends the request, and
// the one that reads the answers grants the lock, if the first answer shows that it is
// free. Otherwise a goroutine waits for the turn.
func (l *Lock) standSoon(t *Ticket) {
	if !t.e.StandSoon(func() context.Context { return l.ctx(t) }, func(err error) { l.stoodSoon(t, err) }) {
		go l.stands(t)
	}
}

// stoodSoon does the same as stood. It does not block if err is nil.
func (l *Lock) stoodSoon(t *Ticket, err error) {
	if err != nil {
		l.stood(t, err)
		return
	}
	l.mu.Lock()
	if t.left || l.line.contradicted(t) != nil {
		l.mu.Unlock()
		go l.stood(t, nil) // which deletes the node, or tells the program of a loss
		return
	}
	t.rest()
	t.waited = t.peer != nil
	l.line.turn(t)
	if d := l.unlock(); d.ends != nil || d.rest != nil {
		go d.run()
	}
	l.Leave()
}

// stood handles the result of a ticket's wait for its turn.
func (l *Lock) stood(t *Ticket, err error) {
	defer l.Leave()
	l.mu.Lock()
	t.rest()
	t.waited = t.peer != nil
	switch {
	case t.left:
		l.remove(t)
	case err != nil:
		// The node goes first, so that none is left when the call returns.
		t.left = true
		l.t.expect()
		if len(t.e.Left())+len(t.e.Open()) == 0 { // which takes no request
			l.finish()
			l.gone(t, l.t.remove(t.e, nil))
		} else {
			gone := t.gone.wait()
			l.remove(t)
			l.finish()
			brief(gone)
		}
		l.mu.Lock()
		if t.moving {
			for _, c := range t.group.calls {
				if errors.Is(err, queue.ErrBusy) || t.e.Last() != "" { // else it stood nowhere
					// What t waits behind counts the nodes of the calls before it here.
					c.Position = max(t.e.Position(), 1+l.line.before(t.group))
				}
				c.peer = l.refusedBy(t, err)
			}
		}
		l.line.failed(t, err)
	default:
		l.turn(t)
	}
	l.finish()
}

// turn calls line.turn for a ticket whose turn has come. It reports the loss of holders
// to the program before another call gets the lock.
func (l *Lock) turn(t *Ticket) {
	for l.line.turn(t) {
		l.finish()
		l.mu.Lock()
	}
}

// rest records that no request moves the ticket any more.
func (t *Ticket) rest() {
	t.cancel(nil)
	t.cancel = nil
}
