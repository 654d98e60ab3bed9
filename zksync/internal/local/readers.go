package local

import "time"

// readers holds the traces of calls that share a read node, which may name any of them
// that still reads. A level has no name: when it is given back, only the context of that
// call can show whose level it was. So a trace is kept as long as its call certainly
// reads. The zero value is empty.
type readers map[string]*reader // by trace id

type reader struct {
	trace string
	since time.Time
	calls int
}

// maxReaders bounds the number of traces kept.
const maxReaders = 64

// traceID returns the part of a traceparent that names the trace, or "".
func traceID(trace string) string {
	if len(trace) < 35 {
		return ""
	}
	return trace[3:35]
}

// joins records that a call now shares the nodes.
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
	if p.served.name.Trace == "" { // else the named call still reads
		p.named()
	}
}

// leaves records that a level was given back by a call of the trace id, if that is
// known.
func (p *published) leaves(id string) {
	if p == nil || !p.l.t.Traces {
		return
	}
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
	if r := p.readers.choose(p.served.name.Trace); r != nil {
		now.name.Trace, now.since = r.trace, r.since
	}
	if now.name.Trace != p.served.name.Trace {
		p.serve(now)
	}
}

// choose returns a call that certainly reads: the named one, or the one that has read
// longest.
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
