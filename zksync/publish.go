package zksync

import (
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// nameDelay is how long a node may name a call that it does not serve, before it
// is rewritten; and how long a call has to be served before a rewrite names it.
// A lock that changes hands faster is not worth a request each time.
const nameDelay = 100 * time.Millisecond

// published keeps true what an entry's nodes say. They are made to name the call
// that the entry stands for. The entry outlives that call: another one takes its
// place in line, or the lock is handed over. When the name has been wrong for
// nameDelay the nodes are rewritten in the background: with the name of the call
// that is served then, if that has been so for nameDelay, else with no owner and
// no trace.
//
// The fields are guarded by lock.mu. A nil published does nothing.
type published struct {
	l       *lock
	e       *queue.Entry
	serves  served
	changes int     // of serves
	readers readers // those who share the nodes
	checks  bool    // a check is on its way
}

// served is whom an entry serves.
type served struct {
	owner Owner
	trace string    // traceparent
	since time.Time // it has been so
}

// passLocked notes that the entry serves w from now on, and no more whom it
// served.
func (p *published) passLocked(w *waiter) {
	if p != nil && (p.serves.trace != w.trace || p.serves.owner.id != w.acq.Owner.id) {
		p.serveLocked(served{owner: w.acq.Owner, trace: w.trace, since: time.Now()})
	}
}

func (p *published) serveLocked(now served) {
	p.serves = now
	p.changes++
	p.laterLocked(nameDelay)
}

// laterLocked has the nodes checked after d, unless they will be anyway.
func (p *published) laterLocked(d time.Duration) {
	if !p.checks {
		p.checks = true
		time.AfterFunc(d, p.check)
	}
}

// check rewrites the nodes if they name whom the entry does not serve.
func (p *published) check() {
	l := p.l
	l.mu.Lock()
	if !l.inUseLocked(p.e) {
		p.checks = false
		l.mu.Unlock()
		return
	}
	l.ref() // beside that of the call or the tenure that is served
	l.mu.Unlock()
	defer l.leave()

	_, err := l.s.conn.Await(l.s.conn.Life())
	l.mu.Lock()
	now, changes := p.serves, p.changes
	// What the write tells of nodes is told of this tenure's, if there is one: its
	// entry does not stand in line again. That of a waiting call may, at any time.
	t := l.standsOnLocked(p.e)
	l.mu.Unlock()
	again := time.Duration(0)
	if err == nil {
		again, err = p.write(now, t)
	}
	if t != nil && (errors.Is(err, conn.ErrNodeGone) || errors.Is(err, conn.ErrSessionOver)) {
		t.lose(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.checks = false
	switch {
	case errors.Is(err, conn.ErrClosed), err != nil && conn.Classify(err) == conn.Answered, !l.inUseLocked(p.e):
	case p.changes != changes:
		p.laterLocked(nameDelay - time.Since(p.serves.since))
	case err != nil:
		p.laterLocked(nameDelay) // the entry may have to stand in line again
	case again > 0:
		p.laterLocked(again)
	}
}

// write writes to the nodes whom they serve. If that is too new to be named they
// name nobody, and the nodes are to be looked at again after the time returned.
func (p *published) write(now served, t *tenure) (again time.Duration, err error) {
	s := p.l.s
	name := s.info(now.owner, now.trace)
	said, stands := p.e.Said()
	if !stands {
		again = nameDelay // its node is being made, and may have the old name
	} else if d := nameDelay - time.Since(now.since); d > 0 && !bytes.Equal(said, name) {
		name, again = s.info(Owner{}, ""), d
	}
	if stands && bytes.Equal(said, name) {
		return again, nil
	}
	// From here on until the new watch stands nothing is handed over: an event of
	// this write would hide another one's.
	own := p.unwatch(t)
	if err := p.e.Publish(name); err != nil {
		return 0, err
	}
	return again, p.watchAgain(t, own)
}

// inUseLocked reports whether a call or a tenure is served by the entry.
func (l *lock) inUseLocked(e *queue.Entry) bool {
	for _, r := range l.runs {
		if r.e == e {
			return true
		}
	}
	return l.standsOnLocked(e) != nil
}

// standsOnLocked returns the tenure that stands on the entry.
func (l *lock) standsOnLocked(e *queue.Entry) *tenure {
	for _, t := range l.tenuresLocked() {
		if t.e == e && t.lost == nil {
			return t
		}
	}
	return nil
}

// unwatch takes the watch on its node from a tenure, and returns it; nil if there is
// none.
func (p *published) unwatch(t *tenure) *conn.Watch {
	if t == nil {
		return nil
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	own := t.lease.Own()
	t.lease = t.lease.With(queue.Lease{})
	return own
}

// watchAgain watches the node of a tenure that may be handed over, in the place of a
// watch that the rewrite has ended or will end. The error is conn.ErrNodeGone if the
// node does not exist; other failures leave it to the next hand-over to ask.
func (p *published) watchAgain(t *tenure, own *conn.Watch) error {
	if own == nil {
		return nil
	}
	p.l.s.conn.Spend(own)
	lease, err := p.e.Watched()
	if errors.Is(err, zk.ErrNoNode) {
		return conn.ErrNodeGone
	}
	if err != nil {
		return nil
	}
	p.l.mu.Lock()
	if !t.over && t.lost == nil && t.lease.Own() == nil {
		t.lease = t.lease.With(lease)
	}
	p.l.mu.Unlock()
	p.l.follow(p.e, lease.Own())
	return nil
}

// payload returns whom an entry made for w serves, as its nodes say it. Nodes that
// the session may not write to name nobody who may be followed by another.
func (s *Session) payload(w *waiter, writes bool) (by served, says []byte) {
	if s.cfg.noInfo {
		return served{}, nil
	}
	if writes || !w.plain() {
		by = served{owner: w.acq.Owner, trace: w.trace}
	}
	by.since = time.Now()
	return by, s.info(by.owner, by.trace)
}

// info is what a node says.
func (s *Session) info(o Owner, trace string) []byte {
	if s.cfg.noInfo {
		return nil
	}
	return znode.Info{
		Identity: s.cfg.identity, Host: s.host, PID: os.Getpid(),
		OwnerID: o.id, OwnerName: o.label, TraceParent: trace,
	}.Encode()
}

// mayWrite reports whether the session may write to nodes with the access list,
// as far as that is certain: who else may is not known to a client, apart from
// the credentials that it was given.
func (s *Session) mayWrite(acl []zk.ACL) bool {
	for _, a := range acl {
		switch {
		case a.Perms&zk.PermWrite == 0:
		case a.Scheme == "world", a.Scheme == "auth": // auth is whoever made the node
			return true
		case a.Scheme == "digest":
			for _, cred := range s.cfg.auth {
				if user, password, ok := bytes.Cut(cred.Cred, []byte(":")); ok && cred.Scheme == "digest" &&
					a.ID == zk.DigestACL(0, string(user), string(password))[0].ID {
					return true
				}
			}
		}
	}
	return false
}
