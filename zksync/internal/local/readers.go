package local

import "time"

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

// joins notes that a call reads on the nodes now.
func (p *published) joins(c *Call) {
	id := traceID(c.Name.Trace)
	if p == nil || id == "" {
		return
	}
	r := p.readers[id]
	switch {
	case r != nil:
		r.calls++
	case len(p.readers) < maxReaders:
		if p.readers == nil {
			p.readers = make(readers)
		}
		p.readers[id] = &reader{trace: c.Name.Trace, since: time.Now(), calls: 1}
	}
	if p.served.name.Trace == "" { // else whoever is named reads, too
		p.named()
	}
}

// leaves notes that a level was given back, in the trace of that id.
func (p *published) leaves(id string) {
	if p == nil || !p.l.t.Traces {
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
	p.named()
}

// named has the nodes name a call that is certain to read.
func (p *published) named() {
	now := served{since: time.Now()}
	if r := p.readers.choose(p.served.name.Trace); r != nil {
		now.name.Trace, now.since = r.trace, r.since
	}
	if now.name.Trace != p.served.name.Trace {
		p.serve(now)
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

// trace returns the traceparent of a call that reads, or "".
func (p *published) trace() string {
	if r := p.readers.choose(p.served.name.Trace); r != nil {
		return r.trace
	}
	return ""
}
