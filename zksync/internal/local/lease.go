package local

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// watch watches the node of a ticket once somebody waits for a hand-over: without the
// watch the lock could be handed over on a node that somebody has deleted.
func (l *Lock) watch(t *Ticket) {
	if t.lease.Own() != nil || t.arming {
		return
	}
	t.arming = true
	l.ref(1)
	go func() {
		defer l.Leave()
		if lease, err := t.e.Watched(); err == nil {
			l.mu.Lock()
			t.lease = lease
			l.mu.Unlock()
			l.follow(t, lease)
		}
	}()
}

// follow ends the holder on a ticket when a watch of its lease says that a node was
// deleted.
func (l *Lock) follow(t *Ticket, lease queue.Lease) {
	for _, w := range lease.Watches() {
		l.t.Conn.After(w, func() {
			if _, deleted := w.Over(); !deleted {
				return
			}
			l.mu.Lock()
			if h := t.holder; h != nil && t.lease.Own() == lease.Own() {
				l.line.lose(h, conn.ErrNodeGone)
			}
			l.finish()
		})
	}
}

func (l *Lock) fit(t *Ticket) bool { return t.e.Fit(t.lease) }

func (l *Lock) alone(t *Ticket) bool {
	return t.kind == Permit && l.crowd.nobody(l.t.Conn.Timeout()) || t.e.Alone(t.lease)
}

// crowd is what the first of a session's permits that waits has seen of the line last.
type crowd struct {
	at     time.Time
	others bool // permits of other sessions wait
}

// nobody reports whether no permit of another session is known to wait. What was seen
// counts for T/6, so that an event which gets lost keeps nobody out for long.
func (c crowd) nobody(timeout time.Duration) bool {
	return !c.others && time.Since(c.at) < timeout/6
}
