package local

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// watch watches the node of a ticket once a call waits for a hand-over. Without the
// watch the lock could be handed over on a node that another client has deleted.
func (l *Lock) watch(t *Ticket) {
	if t.lease.Own() != nil || t.arming {
		return
	}
	t.arming = true
	l.ref(1)
	go func() {
		defer l.Leave()
		if lease, err := t.e.Watched(); err == nil {
			l.armed(t, lease)
		}
	}()
}

// armed records that the nodes of a ticket are watched.
func (l *Lock) armed(t *Ticket, lease queue.Lease) {
	l.mu.Lock()
	t.lease = t.lease.With(lease) // the watch on the line stays: the ticket may linger by now
	t.asked = t.asked || lease.Asked()
	l.mu.Unlock()
	l.follow(t, lease)
}

// follow ends the holder of a ticket when a watch of its lease reports that a node was
// deleted. If the ticket lingers, any event ends that: the deletion, a request for the
// lock, and the loss of the connection.
func (l *Lock) follow(t *Ticket, lease queue.Lease) {
	for _, w := range lease.Watches() {
		l.t.Conn.After(w, func() {
			_, deleted := w.Over()
			l.mu.Lock()
			switch h := t.holder; {
			case t.lease.Own() != lease.Own():
			case h != nil && deleted:
				l.line.lose(h, conn.ErrNodeGone)
			case l.line.resting == t:
				l.line.yield()
			}
			l.finish()
		})
	}
}

func (l *Lock) fit(t *Ticket) bool { return t.e.FitAt(t.lease, l.time()) }

func (l *Lock) alone(t *Ticket) bool {
	return t.kind == Permit && l.crowd.nobody(l.t.Conn.Timeout()) || t.e.Alone(t.lease)
}

// crowd records what the session's first waiting permit saw last of the line.
type crowd struct {
	at     time.Time
	others bool // permits of other sessions wait
}

// nobody reports whether no permit of another session is known to wait. An observation
// counts for T/6, so that a lost event does not keep other sessions out for long.
func (c *crowd) nobody(timeout time.Duration) bool {
	return c != nil && !c.others && time.Since(c.at) < timeout/6
}
