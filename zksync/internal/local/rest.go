package local

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// This file has what the lock does for a ticket that lingers: see linger.go.

// staying is what is known of a ticket that lingers, or has done so. The fields are
// guarded by the lock's mutex.
type staying struct {
	limit  time.Duration // how long it may linger
	since  time.Time     // when it last began to
	timer  *time.Timer   // calls tires; nil: not made yet
	due    time.Time     // when timer fires; zero: it is stopped
	heeded *conn.Watch   // the watch on the line whose event ends the lingering
}

// staying returns what is known of the ticket's lingering.
func (t *Ticket) staying() *staying {
	if t.stay == nil {
		t.stay = new(staying)
	}
	return t.stay
}

// stop frees the timer of a ticket that leaves.
func (s *staying) stop() {
	if s != nil && s.timer != nil {
		s.timer.Stop()
	}
}

// rests is one of the hands. A ticket that had to wait for its turn does not linger: where
// somebody else was in line before, it costs two requests to learn that somebody still is.
func (l *Lock) rests(t *Ticket) rest {
	switch {
	case l.t.stopped(), t.asked:
		return leaves
	case t.lease.Crowd() == nil && t.waited:
		return leaves
	case t.lease.Crowd() == nil:
		return unsure
	case !t.e.Undisturbed(t.lease):
		return leaves
	}
	if t.lease.Own() == nil || !l.t.Conn.AliveAt(t.e.Session(), l.time()) {
		return unsure
	}
	return stays
}

// stayLimit returns how long a ticket may linger that is asked to do so for d.
func (l *Lock) stayLimit(d time.Duration) time.Duration {
	if l.t.Conn.Ordered() {
		return d
	}
	// The client of a program may lose the connection and an event between two looks
	// at it.
	return min(d, l.t.Conn.Timeout())
}

// rested begins the time for which a ticket may linger. The time is checked by a timer
// that stays set when the ticket is lent, because setting one for each call would cost
// more than the call.
func (l *Lock) rested(t *Ticket, d time.Duration) {
	if t.pub != nil && t.pub.served.name != (Name{}) {
		t.pub.serve(served{since: time.Now()}) // nobody holds
	}
	s, limit := t.staying(), l.stayLimit(d)
	s.limit, s.since = limit, time.Now()
	l.heed(t)
	end := s.since.Add(limit)
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(limit, func() { l.tires(t) })
	case s.due.IsZero(), s.due.After(end):
		s.timer.Reset(limit)
	default:
		return
	}
	s.due = end
}

// tires ends the lingering of a ticket when its time is over.
func (l *Lock) tires(t *Ticket) {
	l.mu.Lock()
	s := t.stay
	s.due = time.Time{}
	if l.line.resting == t {
		if left := s.limit - time.Since(s.since); left > 0 {
			s.due = time.Now().Add(left)
			s.timer.Reset(left)
		} else {
			l.line.yield()
		}
	}
	l.finish()
}

// heed has an event on the line end the lingering of a ticket.
func (l *Lock) heed(t *Ticket) {
	w := t.lease.Crowd()
	if w == nil || w == t.staying().heeded {
		return
	}
	t.stay.heeded = w
	l.t.Conn.After(w, func() {
		l.mu.Lock()
		if l.line.resting == t && t.lease.Crowd() == w {
			l.line.yield()
		}
		l.finish()
	})
}

// evict has a ticket that lingers leave, and returns a channel that is closed once its
// nodes are known to be gone; nil if there is none.
func (l *Lock) evict() (gone <-chan struct{}) {
	l.mu.Lock()
	if t := l.line.resting; t != nil {
		gone = t.gone.wait()
	}
	l.line.yield()
	l.finish()
	return gone
}

// makeWay ends the lingering of a ticket that can't serve the call. A call that does not
// wait would be refused because of the ticket's node, so that it waits until the node is
// gone. makeWay is called with the mutex held, and may release it meanwhile.
func (l *Lock) makeWay(c *Call) {
	t := l.line.resting
	switch {
	case t == nil:
	case !t.suits(&c.Want), l.terms.agrees(c.Terms) != nil, c.Try && !t.renewed && l.rests(t) == leaves:
		l.line.yield()
		if c.Try {
			gone := t.gone.wait()
			l.finish()
			c.awaits(gone)
			l.mu.Lock()
		}
	}
}

// awaits waits until the channel is closed, or until the call ends.
func (c *Call) awaits(gone <-chan struct{}) {
	select {
	case <-gone:
	case <-c.Ctx.Done():
	}
}

// makeWay ends the lingering of tickets that stand in the way of a call for several locks.
func (t *Table) makeWay(c *Call) {
	for _, p := range c.Terms.Parts {
		l := t.Find(p.Path)
		if l == nil {
			continue
		}
		if gone := l.evict(); gone != nil && c.Try {
			c.awaits(gone)
		}
		l.Leave()
	}
}
