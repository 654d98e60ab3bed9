package local

import (
	"bytes"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// nameDelay is how long a node may name a call that it does not serve, before it
// is rewritten; and how long a call has to be served before a rewrite names it.
// A lock that changes hands faster is not worth a request each time.
const nameDelay = 100 * time.Millisecond

// published keeps true what the nodes of a ticket say. They are made to name the call
// that the ticket stands for. The ticket outlives that call: another one takes its
// place in line, or the lock is handed over. When the name has been wrong for
// nameDelay the nodes are rewritten in the background: with the name of the call
// that is served then, if that has been so for nameDelay, else with no owner and
// no trace.
//
// A permit that waits is not rewritten: a write to its node says that it has got in.
//
// The fields are guarded by the lock's mutex. A nil published does nothing.
type published struct {
	l       *Lock
	t       *Ticket
	served  served
	changes int     // of served
	readers readers // those who share the nodes
	checks  bool    // a check is on its way
	late    bool    // of a permit that waits: it is to be checked once it has got in
}

// served is whom a ticket serves.
type served struct {
	name  Name
	since time.Time // it has been so
}

// payload returns whom a ticket made for a call serves, as its nodes say it. Nodes
// that the session may not write to name nobody who may be followed by another.
func (l *Lock) payload(c *Call, writes bool) (by served, says []byte) {
	if writes || !c.plain() {
		by.name = c.Name
	}
	by.since = time.Now()
	if says = l.t.Observer.Says(by.name); says == nil {
		return served{}, nil
	}
	return by, says
}

// pass notes that the ticket serves a call from now on, and no more whom it served.
func (p *published) pass(c *Call) {
	if p != nil && p.served.name != c.Name {
		p.serve(served{name: c.Name, since: time.Now()})
	}
}

func (p *published) serve(now served) {
	p.served = now
	p.changes++
	p.later(nameDelay)
}

// in notes that a permit has got in.
func (p *published) in() {
	if p != nil && p.late {
		p.late = false
		p.later(nameDelay)
	}
}

// later has the nodes checked after d, unless they will be anyway.
func (p *published) later(d time.Duration) {
	if p.t.kind == Permit && p.t.moving {
		p.late = true
		return
	}
	if !p.checks {
		p.checks = true
		time.AfterFunc(d, p.check)
	}
}

// inUse reports whether a call or a holder is served by the ticket.
func (t *Ticket) inUse() bool { return t.moving || t.holder != nil }

// check rewrites the nodes if they name whom the ticket does not serve.
func (p *published) check() {
	l, t := p.l, p.t
	l.mu.Lock()
	if !t.inUse() {
		p.checks = false
		l.mu.Unlock()
		return
	}
	l.ref(1) // beside that of the call or the holder that is served
	l.mu.Unlock()
	defer l.Leave()

	_, err := l.t.Conn.Await(l.t.Conn.Life())
	l.mu.Lock()
	now, changes := p.served, p.changes
	// What the write tells of nodes is told of this holder's, if there is one: its
	// entry does not stand in line again. That of a waiting call may, at any time.
	h := t.holder
	waits := t.kind == Permit && t.moving
	l.mu.Unlock()
	again := time.Duration(0)
	if err == nil && !waits {
		again, err = p.write(now, h)
	}
	if h != nil && gone(err) {
		l.lose(h, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.checks = false
	switch {
	case errors.Is(err, conn.ErrClosed), err != nil && conn.Classify(err) == conn.Answered, !t.inUse():
	case waits:
		p.later(nameDelay)
	case p.changes != changes:
		p.later(nameDelay - time.Since(p.served.since))
	case err != nil:
		p.later(nameDelay) // the entry may have to stand in line again
	case again > 0:
		p.later(again)
	}
}

// write writes to the nodes whom they serve. If that is too new to be named they
// name nobody, and the nodes are to be looked at again after the time returned.
func (p *published) write(now served, h *Holder) (again time.Duration, err error) {
	obs := p.l.t.Observer
	name := obs.Says(now.name)
	said, stands := p.t.e.Said()
	if !stands {
		again = nameDelay // its node is being made, and may have the old name
	} else if d := nameDelay - time.Since(now.since); d > 0 && !bytes.Equal(said, name) {
		name, again = obs.Says(Name{}), d
	}
	if stands && bytes.Equal(said, name) {
		return again, nil
	}
	// From here on until the new watch stands nothing is handed over: an event of
	// this write would hide another one's.
	watched := p.unwatch(h)
	if err := p.t.e.Publish(name); err != nil {
		return 0, err
	}
	return again, p.watchAgain(h, watched)
}

// unwatch takes the watches on its nodes from a holder's ticket, and returns them.
func (p *published) unwatch(h *Holder) (watched queue.Lease) {
	if h == nil {
		return watched
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	watched = p.t.lease
	p.t.lease = p.t.lease.With(queue.Lease{})
	return watched
}

// watchAgain watches the nodes of a ticket that may be handed over, in the place of
// watches that the rewrite has ended or will end. The error is conn.ErrNodeGone if a
// node does not exist; other failures leave it to the next hand-over to ask.
func (p *published) watchAgain(h *Holder, watched queue.Lease) error {
	if watched.Own() == nil {
		return nil
	}
	l, t := p.l, p.t
	for _, w := range watched.Watches() {
		l.t.Conn.Spend(w)
	}
	l.mu.Lock()
	shrunk := t.shrunk
	l.mu.Unlock()
	lease, err := t.e.Watched()
	if errors.Is(err, zk.ErrNoNode) {
		return conn.ErrNodeGone
	}
	if err != nil {
		return nil
	}
	l.mu.Lock()
	if t.holder == h && t.lease.Own() == nil && t.shrunk == shrunk { // else it is of a node that goes
		t.lease = t.lease.With(lease)
	}
	l.mu.Unlock()
	l.follow(t, lease)
	return nil
}
