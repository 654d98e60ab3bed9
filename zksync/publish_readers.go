package zksync

import (
	"context"
	"time"
)

// readers are the traces of calls that read together, on a node that may name any
// of them that still reads. Their levels have no names: when one is given back it
// may be anybody's, unless its context tells. So a trace is kept as long as it is
// certain that its call reads. The zero value is none.
type readers struct {
	certain map[string]*reader // by trace id
}

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
	if p == nil || p.l.s.cfg.tracer.Parent == nil {
		return
	}
	trace := p.l.s.parent(w.ctx)
	id := traceID(trace)
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	r := p.readers.certain[id]
	switch {
	case r != nil:
		r.calls++
	case id != "" && len(p.readers.certain) < maxReaders:
		if p.readers.certain == nil {
			p.readers.certain = make(map[string]*reader)
		}
		p.readers.certain[id] = &reader{trace: trace, since: time.Now(), calls: 1}
	}
	if p.serves.trace == "" { // else whoever is named reads, too
		p.readersLocked()
	}
}

// leaving returns the trace of a call that gives a level back.
func (s *Session) leaving(ctx context.Context) string {
	if s.cfg.tracer.Parent == nil {
		return ""
	}
	return traceID(s.parent(ctx))
}

// leavesLocked notes that a level was given back, in the trace of that id.
func (p *published) leavesLocked(id string) {
	if p == nil || p.l.s.cfg.tracer.Parent == nil {
		return
	}
	r := p.readers.certain[id]
	switch {
	case r == nil: // by whom?
		clear(p.readers.certain)
	case r.calls > 1:
		r.calls--
	default:
		delete(p.readers.certain, id)
	}
	p.readersLocked()
}

// readersLocked has the nodes name a call that is certain to read: the one they
// name, or the one that has read longest.
func (p *published) readersLocked() {
	var longest *reader
	for _, r := range p.readers.certain {
		if r.trace == p.serves.trace {
			return
		}
		if longest == nil || r.since.Before(longest.since) {
			longest = r
		}
	}
	now := served{since: time.Now()}
	if longest != nil {
		now.trace, now.since = longest.trace, longest.since
	}
	if p.serves.ctx != nil || p.serves.trace != now.trace {
		p.serveLocked(now)
	}
}
