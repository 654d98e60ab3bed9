package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// The hands of a line. All of them are called with the lock's mutex held, and have a
// goroutine make the requests.

var errSuperseded = errors.New("nobody waits for this node")

// stand puts a ticket in ZooKeeper's line for a group.
func (l *Lock) stand(g *group) *Ticket {
	c := g.calls[0]
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &Ticket{kind: g.Kind, weight: g.Weight, try: g.Try, cancel: cancel, placed: make(chan struct{}), gone: make(chan struct{})}
	writes := l.t.Writes(l.terms.ACL)
	by, says := l.payload(c, writes)
	t.fixed = !writes && by.name != (Name{})
	order := queue.Order{
		Places:  l.terms.places(l.name, *g.Want),
		Data:    says,
		After:   l.inOrder(g),
		Strict:  g.Strict,
		Strange: l.t.Observer.Strange,
		Stays:   l.t.Observer.Stays,
		ACL:     l.terms.ACL,
		Try:     g.Try,
		Fence:   g.Handle,
		Blocked: func(b queue.Blocker) { l.blocked(t, b) },
		Placed:  func() { l.placed(t) },
		Of:      l,
	}
	if g.Kind == Permit {
		t.sent = make(chan struct{})
		order.Sent = sync.OnceFunc(func() { close(t.sent) })
		order.Others = func(wait bool) {
			l.mu.Lock()
			l.crowd = crowd{time.Now(), wait}
			l.mu.Unlock()
		}
		limit := g.Limit
		order.Limits = func(smallest int64) { l.t.Observer.Limits(l.path, limit, smallest) }
	}
	t.e = queue.New(l.t.Conn, order)
	if writes && says != nil {
		t.pub = &published{l: l, t: t, served: by}
	}
	l.t.track(t.e)
	l.newest = t
	l.ref(1)
	go l.stands(ctx, t)
	return t
}

// placed notes that a ticket stands in line. Its entry calls it, with no mutex held,
// at each attempt.
func (l *Lock) placed(t *Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	closeOnce(t.placed)
	if l.there != nil {
		closeOnce(l.there)
	}
}

// closeOnce closes a channel that may be closed already. It needs the lock's mutex.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// inOrder has the nodes of permits made in the order of the calls. The request that
// makes a node waits until the one before has been sent, not for its answer: but for
// the first one, before which the lock's path may not exist.
func (l *Lock) inOrder(g *group) func(context.Context) {
	if g.Kind != Permit {
		return nil
	}
	if l.there == nil {
		l.there = make(chan struct{})
	}
	before, there := l.newest, l.there
	if before == nil {
		return nil
	}
	return func(ctx context.Context) {
		for _, c := range [...]chan struct{}{there, before.sent} {
			select {
			case <-c:
			case <-before.placed:
				return
			case <-before.gone:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// stands waits for the turn of a ticket in ZooKeeper's line.
func (l *Lock) stands(ctx context.Context, t *Ticket) {
	defer l.Leave()
	err := t.e.Stand(ctx)
	l.mu.Lock()
	t.rest()
	switch {
	case t.left:
		l.remove(t)
	case err != nil:
		// The node goes first, so that none is left when the call returns.
		t.left = true
		l.t.expect()
		if len(t.e.Left())+len(t.e.Open()) == 0 { // which takes no request
			l.finish()
			l.gone(t, l.t.remove(t.e))
		} else {
			l.remove(t)
			l.finish()
			brief(t.gone)
		}
		l.mu.Lock()
		if t.moving {
			for _, c := range t.group.calls {
				c.Position = 1 + l.line.before(t.group)
			}
		}
		l.line.failed(t, err)
	default:
		l.turn(t)
	}
	l.finish()
}

// turn tells the line that a ticket's turn has come. Holders that have lost the lock are
// told before there is another one.
func (l *Lock) turn(t *Ticket) {
	for l.line.turn(t) {
		l.finish()
		l.mu.Lock()
	}
}

// rest notes that no request that moves the ticket is under way.
func (t *Ticket) rest() {
	t.cancel(nil)
	t.cancel = nil
}

// renew makes a ticket fit to serve another group: its node gets the weight of that,
// is watched again, and its session is proven alive. If the budget of hand-overs is
// used up (alone), it fails unless nobody else is in line: then going to the back of
// the line would change nothing. Whoever gives the lock back waits for the answer as
// for a deletion's, because the answer says whether the lock had been lost before.
func (l *Lock) renew(t *Ticket, alone bool) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t.cancel = cancel
	t.rel = newDeletion()
	l.ref(1)
	go l.renews(ctx, t, alone)
}

func (l *Lock) renews(ctx context.Context, t *Ticket, alone bool) {
	defer l.Leave()
	var err error
	if t.kind == Permit {
		err = t.e.Shrink(func() int64 { return l.weight(t) })
	}
	var lease queue.Lease
	if err == nil {
		lease, err = t.e.Renew(ctx, alone)
	}
	l.mu.Lock()
	own := t.lease.Own()
	t.rest()
	if !t.left && !errors.Is(err, queue.ErrNotAlone) {
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
		l.turn(t)
	case errors.Is(err, queue.ErrNotAlone):
		// The session goes to the back of the line before it leaves the front:
		// otherwise the next session might find itself alone meanwhile, and hand the
		// lock over to its own for longer than it may.
		l.newest, l.behind = nil, true
		l.line.failed(t, nil)
		l.behind = false
	case h != nil && gone(err):
		l.line.lose(h, err)
	default:
		l.line.failed(t, err)
	}
	l.finish()
}

// weight is what a ticket's node is to weigh at this moment: 0 once it does not
// matter. Permits are given back in parts by several calls at once, which come to
// the node in any order.
func (l *Lock) weight(t *Ticket) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.left {
		return 0
	}
	return t.weight
}

// leave has a ticket deleted: at once, or when the request that moves it has come
// back.
func (l *Lock) leave(t *Ticket) {
	if t.left {
		return
	}
	t.left = true
	l.t.expect()
	if l.behind {
		t.after = l.newest
	}
	if t.cancel != nil {
		t.cancel(errSuperseded)
		return
	}
	if t != l.ending { // else vacate sees to it
		l.remove(t)
	}
}

// remove deletes the nodes of a ticket that has left and rests, in a goroutine that
// begins once the contexts of those who have lost the lock have ended.
func (l *Lock) remove(t *Ticket) {
	l.ref(1)
	l.todo.rest = append(l.todo.rest, func() {
		go func() {
			defer l.Leave()
			if o := t.after; o != nil {
				select {
				case <-o.placed:
				case <-o.gone:
				}
			}
			l.gone(t, l.t.remove(t.e))
		}()
	})
}

// gone notes what a deletion came to.
func (l *Lock) gone(t *Ticket, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.rel.is(err)
	close(t.gone)
}

// serves notes whom a ticket serves from now on: its nodes come to say so, and those
// it serves are told whom it waits for.
func (l *Lock) serves(t *Ticket, g *group) {
	t.pub.pass(g.calls[0])
	l.tell(t)
}

// answer ends the wait of a call.
func (l *Lock) answer(c *Call) {
	if h := c.holder; h != nil {
		l.granted(c, h)
	}
	close(c.ready)
}

// granted completes what a call has been granted.
func (l *Lock) granted(c *Call, h *Holder) {
	if h.start.IsZero() {
		h.start = time.Now()
	}
	if !c.enters {
		l.entangles(c.Owner)
		l.t.Acquired.Add(1)
		if c.Handed = h.ticket.used; c.Handed {
			l.t.Handoffs.Add(1)
		}
	}
	if h.shared {
		h.ticket.pub.joins(c)
	}
	h.ticket.peer = nil // what it waited for is gone
	if h.kind == Permit {
		h.ticket.pub.in()
	}
	if c.Want.Handle {
		c.Handle = new(Handle)
		l.opens(h, c.Handle)
	}
}
