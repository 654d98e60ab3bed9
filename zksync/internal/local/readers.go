package local

import "time"

// readers holds the names of calls that share a read node, which may name any of them
// that still reads. A level has no name: when it is given back, only the context of that
// call can show whose level it was. So a name is kept as long as its call certainly
// reads. The zero value is empty.
type readers map[string]*reader // by Name.reader

type reader struct {
	name  Name
	since time.Time
	calls int
}

// maxReaders bounds the number of names kept.
const maxReaders = 64

// reader returns what tells the calls of one trace and label from others; "" for a call
// that has neither.
func (n *Name) reader() string {
	trace := traceID(n.Trace)
	if trace == "" && n.Owner == "" {
		return ""
	}
	return trace + " " + n.Owner
}

// traceID returns the part of a traceparent that names the trace, or "".
func traceID(trace string) string {
	if len(trace) < 35 {
		return ""
	}
	return trace[3:35]
}

// joins records that a call now shares the nodes of a ticket.
func (l *Lock) joins(t *Ticket, c *Call) {
	id := c.Name.reader()
	if id == "" {
		return
	}
	if t.pub == nil {
		l.publishes(t, served{})
	}
	if t.pub != nil {
		t.pub.joins(id, c)
	}
}

// joins records that a call with that id now shares the nodes.
func (p *published) joins(id string, c *Call) {
	r := p.readers[id]
	switch {
	case r != nil:
		r.calls++
	case len(p.readers) < maxReaders:
		if p.readers == nil {
			p.readers = make(readers)
		}
		p.readers[id] = &reader{name: c.Name, since: time.Now(), calls: 1}
	}
	if p.served.name == (Name{}) { // else the named call still reads
		p.named()
	}
}

// leaves records that a level was given back by a call of that name.
func (p *published) leaves(by Name) {
	if p == nil || len(p.readers) == 0 && p.served.name == (Name{}) {
		return
	}
	id := by.reader()
	r := p.readers[id]
	switch {
	case r == nil: // the call is not known
		clear(p.readers)
	case r.calls > 1:
		r.calls--
	default:
		delete(p.readers, id)
	}
	p.named()
}

// named makes the nodes name a call that certainly reads.
func (p *published) named() {
	now := served{since: time.Now()}
	if r := p.readers.choose(p.served.name); r != nil {
		now.name, now.since = r.name, r.since
	}
	if now.name != p.served.name {
		p.serve(now)
	}
}

// choose returns a call that certainly reads: the named one, or the one that has read
// longest.
func (rs readers) choose(named Name) (longest *reader) {
	for _, r := range rs {
		if r.name == named {
			return r
		}
		if longest == nil || r.since.Before(longest.since) {
			longest = r
		}
	}
	return longest
}

// name returns the name of a call that reads; the zero value if none is certain to.
func (p *published) name() Name {
	if r := p.readers.choose(p.served.name); r != nil {
		return r.name
	}
	return Name{}
}
