package local

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Peer is the node that a call waits for. It is a plain value.
type Peer struct {
	queue.Blocker
	Ours  *Call     // the call of this session that holds; nil: what the node says is Data
	Name  Name      // of Ours, or of a call that reads with it
	Since time.Time // of Ours: the grant
}

// toldLocal is the word of a call that met a holder of its own session.
var toldLocal = new(Peer)

// tell gives a call that waits the newest word.
func (c *Call) tell(p *Peer) {
	if c.told == p {
		return
	}
	c.told, c.Contended = p, true
	select {
	case c.news <- struct{}{}:
	default: // it has word to read, or does not listen
	}
}

// listen is wait for a caller that wants to know whom the call waits for.
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
			p := c.told
			l.mu.Unlock()
			if p != toldLocal { // as was told at first
				c.Blocked(*p)
			}
		}
	}
}

// holderAhead describes the holder of its own session that a call met.
func (l *Lock) holderAhead(c *Call) Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := c.ahead
	p := Peer{Ours: h.first, Name: h.first.Name, Since: h.start}
	p.Path, p.Local, p.Stat.EphemeralOwner = h.ticket.e.Node(), true, h.ticket.e.Session()
	if c.group != nil {
		p.Place = l.position(c, l.line.before(c.group))
	}
	if h.shared && h.ticket.pub != nil {
		p.Name = h.ticket.pub.name()
	}
	return p
}

// blocked notes whom a ticket waits for, and tells those that it stands for. It is
// called with no mutex held.
func (l *Lock) blocked(t *Ticket, b queue.Blocker) {
	if b.Stat.Ctime == 0 && l.t.Peers {
		// One of several that keep a permit from its turn, none of which is
		// watched by itself: a read for those who want to know.
		if data, st, err := l.t.Conn.Get(b.Path); err == nil {
			b.Data, b.Stat, b.Local = data, *st, st.EphemeralOwner == t.e.Session()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.peer = &Peer{Blocker: b}
	l.tell(t)
}

// tell tells those that a ticket in line stands for, once, whom it waits for. They may
// have come to the ticket when another call gave up.
func (l *Lock) tell(t *Ticket) {
	if t.peer == nil || t.group == nil {
		return
	}
	for _, c := range t.group.calls {
		c.tell(t.peer)
	}
	if l.t.Peers && (t.kind != Permit || t.group == l.line.edge) {
		l.tellBehind(t)
	}
}

// tellBehind tells those further back, which have no ticket of their own and wait for
// the same one. They are told once: a change that each heard of would wake them all.
func (l *Lock) tellBehind(t *Ticket) {
	n := l.line.count
	for e := l.line.waits.Back(); e != nil; e = e.Prev() {
		g := e.Value.(*group)
		n -= len(g.calls)
		news := false
		for _, c := range g.calls {
			if c.told != nil {
				continue
			}
			p := *t.peer
			p.Place += n
			c.tell(&p)
			news = true
		}
		if !news {
			return
		}
	}
}
