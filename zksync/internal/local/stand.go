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
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &Ticket{kind: g.Kind, weight: g.Weight, try: g.Try, cancel: cancel, placed: make(chan struct{}), gone: make(chan struct{})}
	writes := l.t.Writes(l.terms.ACL)
	by, says := l.payload(g.calls[0], writes)
	t.fixed = !writes && by.name != (Name{})
	order := l.order(t, g, says)
	if g.Kind == Permit {
		l.orderPermit(&order, t, g.Limit)
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

// order returns what the entry of a new ticket for a group is asked to do.
func (l *Lock) order(t *Ticket, g *group, says []byte) queue.Order {
	return queue.Order{
		Places:  l.terms.places(l.name, *g.Want),
		Data:    says,
		After:   l.inOrder(g),
		Strict:  g.Strict,
		Strange: l.t.Observer.Strange,
		Stays:   l.t.Observer.Stays,
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
		l.crowd = crowd{time.Now(), wait}
		l.mu.Unlock()
	}
	order.Limits = func(smallest int64) { l.t.Observer.Limits(l.path, limit, smallest) }
}

// placed records that a ticket stands in line. The entry calls it at each attempt, with
// no mutex held.
func (l *Lock) placed(t *Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	closeOnce(t.placed)
	if l.there != nil {
		closeOnce(l.there)
	}
}

// closeOnce closes a channel unless it is closed already. The caller must hold the lock's
// mutex.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
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
func (l *Lock) stands(ctx context.Context, t *Ticket) {
	defer l.Leave()
	err := t.e.Stand(ctx)
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
			l.remove(t)
			l.finish()
			brief(t.gone)
		}
		l.mu.Lock()
		if t.moving {
			for _, c := range t.group.calls {
				c.Position = 1 + l.line.before(t.group)
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
