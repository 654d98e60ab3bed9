package zksync

import (
	"context"
	"time"
)

// readers are the traces of calls that read together, on a node that may name any
// of them that still reads. Their levels have no names: when one is given back it
// may be anybody's, unless its context tells. So a trace is kept as long as it is
// certain that its call reads. The zero value is none.
type readers map[string]*reader // by trace id

type reader struct {
	trace string
	since time.Time
	calls int
}

// maxReaders bounds the traces that are kept.
const maxReaders = 64

// traceID returns the part of a traceparent that names the trace, or "".
func traceID(trace string) string {
	if len(trace) < 35 {
		return ""
	}
	return trace[3:35]
}

// joins notes that the call of w reads on the nodes now.
func (p *published) joins(w *waiter) {
	id := traceID(w.trace)
	if p == nil || id == "" {
		return
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	r := p.readers[id]
	switch {
	case r != nil:
		r.calls++
	case len(p.readers) < maxReaders:
		if p.readers == nil {
			p.readers = make(readers)
		}
		p.readers[id] = &reader{trace: w.trace, since: time.Now(), calls: 1}
	}
	if p.serves.trace == "" { // else whoever is named reads, too
		p.readersLocked()
	}
}

// leaving returns the trace id of a call that gives a level back.
func (s *Session) leaving(ctx context.Context) string { return traceID(s.parent(ctx)) }

// leavesLocked notes that a level was given back, in the trace of that id.
func (p *published) leavesLocked(id string) {
	if p == nil || p.l.s.cfg.tracer.Parent == nil {
		return
	}
	r := p.readers[id]
	switch {
	case r == nil: // by whom?
		clear(p.readers)
	case r.calls > 1:
		r.calls--
	default:
		delete(p.readers, id)
	}
	p.readersLocked()
}

// readersLocked has the nodes name a call that is certain to read.
func (p *published) readersLocked() {
	now := served{since: time.Now()}
	if r := p.readers.choose(p.serves.trace); r != nil {
		now.trace, now.since = r.trace, r.since
	}
	if now.trace != p.serves.trace {
		p.serveLocked(now)
	}
}

// choose returns a call that is certain to read: the one that is named, or the one
// that has read longest.
func (rs readers) choose(named string) (longest *reader) {
	for _, r := range rs {
		if r.trace == named {
			return r
		}
		if longest == nil || r.since.Before(longest.since) {
			longest = r
		}
	}
	return longest
}

// traceLocked returns the traceparent of a call that the tenure is held for.
func (t *tenure) traceLocked() string {
	if !t.shared || t.pub == nil {
		return t.trace
	}
	if r := t.pub.readers.choose(t.pub.serves.trace); r != nil {
		return r.trace
	}
	return ""
}
