package local

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Peer is the node that a call waits for. It is a plain value.
type Peer struct {
	queue.Blocker
	Ours  *Call     // the call of this session that holds; nil: Data describes the call
	Name  Name      // of Ours, or of a call that reads with it
	Since time.Time // of Ours: the grant
}

// ownSession stands for a holder of the call's own session, found when the call came.
var ownSession = new(Peer)

// notify records the node that a call waits for, and wakes a caller that listens.
func (c *Call) notify(p *Peer) {
	if c.peer == p {
		return
	}
	c.peer, c.Contended = p, true
	select {
	case c.news <- struct{}{}:
	default: // a notification is pending, or the caller does not listen
	}
}

// listen does the same as wait, and calls Blocked each time the peer changes.
func (l *Lock) listen(c *Call) error {
	if c.ahead != nil {
		c.Blocked(l.holderAhead(c))
	}
	for {
		select {
		case <-c.ready:
			return c.over()
		case <-c.Ctx.Done():
			return ErrDone
		case <-c.news:
			l.mu.Lock()
			p := c.peer
			l.mu.Unlock()
			if p != nil && p != ownSession { // else the call has failed, or it was reported first
				c.Blocked(*p)
			}
		}
	}
}

// Behind returns the node that a call that failed stood behind, as far as that was known;
// nil if it was not.
func (c *Call) Behind() *Peer {
	if c.peer == ownSession {
		return nil
	}
	return c.peer
}

// before returns the node that a call waits for, or would wait for, as far as that is known
// without a request. It is called with the lock's mutex held.
func (l *Lock) before(c *Call) *Peer {
	if c.group != nil && c.group.ticket != nil && c.group.ticket.peer != nil {
		return c.group.ticket.peer
	}
	if h := l.aheadOf(c); h != nil {
		p := l.describe(h)
		return &p
	}
	if g := l.line.first(); g != nil && g.ticket != nil && g != c.group {
		return g.ticket.peer
	}
	return nil
}

// holderAhead describes the holder of its own session that a call found.
func (l *Lock) holderAhead(c *Call) Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.describe(c.ahead)
	if c.group != nil {
		p.Place = l.position(c, l.line.before(c.group))
	}
	return p
}

// describe describes a holder of this session.
func (l *Lock) describe(h *Holder) Peer {
	p := Peer{Ours: h.first, Name: h.first.Name, Since: h.start}
	p.Path, p.Local, p.Stat.EphemeralOwner = h.ticket.e.Node(), true, h.ticket.e.Session()
	if h.shared && h.ticket.pub != nil {
		p.Name = h.ticket.pub.name()
	}
	return p
}

// blocked records the node that a ticket waits for, and notifies the calls of the
// ticket. It is called with no mutex held.
func (l *Lock) blocked(t *Ticket, b queue.Blocker) {
	if b.Stat.Ctime == 0 && l.t.Peers {
		// It is one of several nodes that block a permit, and none of them is
		// watched. Read its data for the callers that listen.
		if data, st, err := l.t.Conn.Get(b.Path); err == nil {
			b.Data, b.Stat, b.Local = data, *st, st.EphemeralOwner == t.e.Session()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.peer = &Peer{Blocker: b}
	l.notify(t)
}

// notify notifies the calls of a ticket in line of the node that the ticket waits for. The
// calls may have got the ticket when another call gave up.
func (l *Lock) notify(t *Ticket) {
	if t.peer == nil || t.group == nil {
		return
	}
	for _, c := range t.group.calls {
		c.notify(t.peer)
	}
	if l.t.Peers && (t.kind != Permit || t.group == l.line.edge) {
		l.notifyBehind(t)
	}
}

// notifyBehind notifies the calls further back, which have no ticket of their own and
// wait for the same node. It does so once for each call: to report every change would
// wake all of them each time.
func (l *Lock) notifyBehind(t *Ticket) {
	n := l.line.count
	for g := l.line.waits.last; g != nil; g = g.prev {
		n -= len(g.calls)
		news := false
		for _, c := range g.calls {
			if c.peer != nil {
				continue
			}
			p := *t.peer
			p.Place += n
			c.notify(&p)
			news = true
		}
		if !news {
			return
		}
	}
}
