package local

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// nameDelay is how long a node may name a call that it does not serve before it is
// rewritten, and how long a call must be served before a rewrite names it. A lock that
// changes hands faster is not worth a request each time.
const nameDelay = 100 * time.Millisecond

// published keeps the data of a ticket's nodes correct. The nodes are made with the name
// of the call that the ticket stands for. The ticket outlives that call: another one
// takes its place in line, or the lock is handed over. When the name has been wrong for
// nameDelay, the nodes are rewritten in the background: with the name of the call that the
// ticket serves then, if it has done so for nameDelay, else without an owner and a trace.
//
// A waiting permit is not rewritten: a write to its node means that it has got in.
//
// The fields are guarded by the lock's mutex. A nil published names no call, and nothing
// is to be done for it.
type published struct {
	l       *Lock
	t       *Ticket
	served  served
	changes int       // the number of changes of served
	readers readers   // the calls that share the nodes
	checks  bool      // a check is scheduled or runs
	late    bool      // a check waits until the ticket is settled
	due     time.Time // when that check was due

	written chan struct{} // closed when the write under way is over; nil: none
}

// served describes the call that a ticket serves.
type served struct {
	name  Name
	since time.Time // since when it is served
}

// payload returns the data for nodes made for a call, and the call that they name. Nodes
// that the session may not write to name no call that another one may follow.
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

// publishes begins to keep the data of a ticket's nodes correct, which name the call by.
func (l *Lock) publishes(t *Ticket, by served) {
	if t.says {
		t.pub = &published{l: l, t: t, served: by}
	}
}

// pass records that the ticket serves a call from now on, in place of the one before.
func (l *Lock) pass(t *Ticket, c *Call) {
	if t.pub == nil && c.Name != (Name{}) {
		l.publishes(t, served{})
	}
	if p := t.pub; p != nil && p.served.name != c.Name {
		p.serve(served{name: c.Name, since: time.Now()})
	}
}

func (p *published) serve(now served) {
	p.served = now
	p.changes++
	p.later(nameDelay)
}

// unsettled reports whether the nodes must not be written to at present. A write while
// the ticket is renewed might come between the reads of that, and use up the new watch.
// A write to the node of a waiting permit means that it has got in.
func (p *published) unsettled() bool { return p.t.renewed || p.t.kind == Permit && p.t.moving }

// settles schedules the check that has waited, if the ticket is settled now.
func (p *published) settles() {
	if p != nil && p.late && !p.unsettled() {
		p.late = false
		p.later(time.Until(p.due))
	}
}

// later schedules a check of the nodes after d, unless one is scheduled already.
func (p *published) later(d time.Duration) {
	switch {
	case p.checks, p.late:
	case p.unsettled():
		p.late, p.due = true, time.Now().Add(d)
	default:
		p.checks = true
		time.AfterFunc(d, p.check)
	}
}

// inUse reports whether the ticket serves a call or a holder, or lingers.
func (p *published) inUse() bool {
	return p.t.moving || p.t.holder != nil || p.l.line.resting == p.t
}

// check rewrites the nodes if they name a call that the ticket does not serve.
func (p *published) check() {
	l, t := p.l, p.t
	if !p.claim() {
		return
	}
	defer l.Leave()

	_, err := l.t.Conn.Await(l.t.Conn.Life())
	l.mu.Lock()
	now, changes := p.served, p.changes
	l.mu.Unlock()
	again := time.Duration(0)
	if err == nil {
		again, err = p.write(now)
	}
	l.mu.Lock()
	defer l.finish()
	p.checks = false
	if gone(err) && l.line.resting == t {
		l.line.yield()
	}
	p.checkAgain(changes, again, err)
}

// claim counts a check in as a user of the lock, beside the call or the holder that is
// served. It reports false if there is none: then there is nothing to check.
func (p *published) claim() bool {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if !p.inUse() {
		p.checks = false
		return false
	}
	p.l.ref(1)
	return true
}

// checkAgain plans the next check, if one is needed, from how the last one went: the
// changes that it saw, when it asked to be repeated, and its error.
func (p *published) checkAgain(changes int, again time.Duration, err error) {
	switch {
	case errors.Is(err, conn.ErrClosed), err != nil && conn.Classify(err) == conn.Answered, !p.inUse():
	case errors.Is(err, errUnsettled):
		p.later(0)
	case p.changes != changes:
		p.later(nameDelay - time.Since(p.served.since))
	case err != nil:
		p.later(nameDelay) // the entry may have to stand in line again
	case again > 0:
		p.later(again)
	}
}

// write writes the name of the call that the nodes serve. If the call is too new to be
// named, write removes the old name, and returns the time after which to check again.
func (p *published) write(now served) (again time.Duration, err error) {
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
	// Nothing is handed over from here until the new watch is set: the event of this
	// write would hide another one.
	w, err := p.unwatch()
	if err != nil {
		return 0, err
	}
	err = p.rewrite(w, name)
	// The entry of a holder does not stand in line again. That of a waiting call may do
	// so at any time.
	if w.holder != nil && gone(err) {
		p.l.lose(w.holder, err)
	}
	return again, err
}

// rewrite writes data to the nodes, and ends the write.
func (p *published) rewrite(w writing, data []byte) error {
	defer p.wrote()
	if err := p.t.e.Publish(data); err != nil {
		return err
	}
	return p.watchAgain(w)
}

// writing is what a write has found when it began.
type writing struct {
	holder  *Holder     // of the ticket; nil: none
	watched queue.Lease // its watches, which the write uses up
	shrunk  int         // the number of times that a part of the ticket was given back
}

// errUnsettled reports that the nodes must not be written to at present.
var errUnsettled = errors.New("the ticket is being renewed, or waits")

// unwatch begins a write. It removes the watches from the lease of a ticket that has a
// holder or lingers.
func (p *published) unwatch() (w writing, err error) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if p.unsettled() {
		return w, errUnsettled
	}
	p.written = make(chan struct{})
	w.holder, w.shrunk = p.t.holder, p.t.shrunk
	if w.holder != nil || p.l.line.resting == p.t {
		w.watched = p.t.lease
		p.t.lease = p.t.lease.With(queue.Lease{})
	}
	return w, nil
}

// wrote ends a write.
func (p *published) wrote() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	close(p.written)
	p.written = nil
}

// awaitWritten waits for the end of a write. A renewal that begins during one would get the
// watch that the write uses up.
func (p *published) awaitWritten(ctx context.Context) {
	if p == nil {
		return
	}
	p.l.mu.Lock()
	written := p.written
	p.l.mu.Unlock()
	if written == nil {
		return
	}
	select {
	case <-written:
	case <-ctx.Done():
	}
}

// watchAgain watches the nodes of a ticket that may be handed over, in place of the
// watches that the rewrite has ended or will end. It returns conn.ErrNodeGone if a node
// does not exist. After any other failure the next hand-over sets the watch. If a part
// of the ticket was given back since unwatch, the ticket gets no watch: the new one may
// be on a node that is about to be replaced, whose end is no loss.
func (p *published) watchAgain(w writing) error {
	if w.watched.Own() == nil {
		return nil
	}
	l, t := p.l, p.t
	for _, spent := range w.watched.Watches() {
		l.t.Conn.Spend(spent)
	}
	lease, err := t.e.Watched()
	if errors.Is(err, zk.ErrNoNode) {
		return conn.ErrNodeGone
	}
	if err != nil {
		return nil
	}
	l.mu.Lock()
	if t.holder == w.holder && t.lease.Own() == nil && t.shrunk == w.shrunk {
		t.lease = t.lease.With(lease)
	}
	t.asked = t.asked || lease.Asked()
	if l.line.resting == t && t.asked {
		l.line.yield() // it was asked back before the new watch was set
	}
	l.finish()
	l.follow(t, lease)
	return nil
}
