package local

import "time"

// A lock that lingers is taken and given back without an allocation by calls that leave no
// trace: without a context that carries anything, an owner, a label, a handle and a tracer.
// Nothing tells such calls apart, so that they take turns with one holder, which needs no
// call. Whatever is out of the ordinary goes the long way: Acquire and Unlock.

// quick is a holder of a ticket for one such call after the other.
type quick struct {
	Holder
	call Call // what the holder began with
}

// silent is the caller of calls that leave no trace.
type silent struct{}

func (silent) Blocked(Peer)                            {}
func (silent) Ended(error, bool, time.Duration) func() { return nil }
func (silent) Releasing() func(error)                  { return nil }

// Quick describes a call that leaves no trace.
type Quick struct {
	Kind    Kind
	Terms   *Terms
	Handoff int
	Linger  time.Duration
}

// Take takes the lock for q if it lingers, and reports whether it did. The caller need not
// count as a user of the lock.
func (l *Lock) Take(q *Quick) bool {
	now := time.Now()
	l.mu.Lock()
	ok := l.takes(q, now)
	l.mu.Unlock()
	return ok
}

func (l *Lock) takes(q *Quick, now time.Time) bool {
	t := l.line.resting // if there is one, the lock is in the table
	if t == nil || t.kind != q.Kind || l.t.multis.Load() > 0 {
		return false
	}
	h := t.quick
	if h == nil || h.known || h.call.Terms != q.Terms {
		if l.terms.agrees(q.Terms) != nil {
			return false
		}
		h = &quick{}
		h.call.Kind, h.call.Terms, h.call.Caller = q.Kind, q.Terms, silent{}
		h.Holder = Holder{ticket: t, kind: q.Kind, shared: q.Kind == Read, first: &h.call}
		t.quick = h
	}
	h.handoff, h.linger, h.levels, h.start = q.Handoff, q.Linger, 1, now
	h.call.Handoff, h.call.Linger = q.Handoff, q.Linger
	l.now = now
	ok := l.line.lend(&h.Holder)
	l.now = time.Time{}
	if !ok {
		h.levels = 0
		return false
	}
	l.held++
	l.t.Held.Add(1)
	l.t.Acquired.Add(1)
	return true
}

// Give gives a lock back that Take has taken, if it may linger again, and reports whether
// it did. If sure is set, it finds out by both clocks whether the session lives. Otherwise
// it reads only the monotonic one, which takes half the time: the next Take reads both.
func (l *Lock) Give(read, sure bool) bool {
	l.mu.Lock()
	ok := l.takesBack(read, sure)
	l.mu.Unlock()
	return ok
}

func (l *Lock) takesBack(read, sure bool) bool {
	h := l.line.held.first // if there is one, the lock is in the table
	if h == nil || h.levels != 1 || h.known || read != (h.kind == Read) {
		return false
	}
	s := &h.ticket.stay
	if s.due.IsZero() || s.limit != l.stayLimit(h.linger) {
		return false
	}
	if sure {
		l.now = time.Now()
	} else {
		l.now = h.start.Add(time.Since(h.start))
	}
	ok := l.line.lull(h)
	if ok {
		s.since = l.now
		l.held--
		l.t.Held.Add(-1)
	}
	l.now = time.Time{}
	return ok
}
