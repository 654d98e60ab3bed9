package local

import "time"

// Calls leave no trace that are made for nobody in particular, without a handle and
// without a tracer. Nothing tells them apart, so that the lock passes between them in
// fewer steps: Take and Give do in one what takes Acquire and Unlock several, and a lock
// that lingers has one holder for all of them. What is out of the ordinary goes the long
// way.

// nobody is the first call of holders whose call leaves no trace.
var nobody = &Call{Caller: silent{}}

// silent is the caller of calls that leave no trace.
type silent struct{}

func (silent) Blocked(Peer)                            {}
func (silent) Ended(error, bool, time.Duration) func() { return nil }
func (silent) Releasing() func(error)                  { return nil }

// quick is the holder of a ticket for one call of Take after the other.
type quick struct {
	Holder
	terms *Terms // of the last call
}

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
	l.mu.Lock()
	ok := l.takes(q)
	l.now = time.Time{}
	l.mu.Unlock()
	return ok
}

func (l *Lock) takes(q *Quick) bool {
	t := l.line.resting // if there is one, the lock is in the table
	if t == nil || t.kind != q.Kind || l.t.multis.Load() > 0 {
		return false
	}
	l.now = time.Now() // not before: the process may have been stopped while it waited for the mutex
	h := t.quick
	if h == nil || h.known || h.terms != q.Terms {
		if l.terms.agrees(q.Terms) != nil {
			return false
		}
		h = &quick{terms: q.Terms, Holder: Holder{ticket: t, kind: q.Kind, shared: q.Kind == Read, first: nobody}}
		t.quick = h
	}
	h.handoff, h.linger, h.levels, h.start = q.Handoff, q.Linger, 1, l.now
	if !l.line.lend(&h.Holder) {
		h.levels = 0
		return false
	}
	l.held++
	l.t.Held.Add(1)
	l.t.Acquired.Add(1)
	return true
}

// Give ends a level of a lock that is held without an owner, if that takes no request:
// others still read, the lock lingers, or it passes to the next call here. It reports
// whether it did.
// The caller need not count as a user of the lock, and has no tracer.
//
// If sure is set, Give finds out by both clocks whether the session lives. Otherwise it
// reads only the monotonic one, which takes half the time: whoever takes a lock that
// lingers reads both.
func (l *Lock) Give(read, sure bool) bool {
	l.mu.Lock()
	h := l.line.held.first // if there is one, the lock is in the table
	if h == nil || h.levels == 0 || read != (h.kind == Read) || h.kind == Permit || !l.line.lone(h) {
		l.mu.Unlock()
		return false
	}
	switch {
	case h.levels > 1:
		ok := !sure // else the context may say which of the readers has ended
		if ok {
			h.ticket.pub.leaves(Name{})
			h.levels--
		}
		l.mu.Unlock()
		return ok
	case l.line.first() != nil || sure:
		l.now = time.Now()
	default:
		l.now = h.start.Add(time.Since(h.start))
	}
	ok := l.line.pass(h) || l.lulls(h)
	l.now = time.Time{}
	l.finish()
	return ok
}

// lulls has the lock linger that a call of Take has taken.
func (l *Lock) lulls(h *Holder) bool {
	s := h.ticket.stay
	if s == nil || h.known || h.linger <= 0 || s.due.IsZero() || s.limit != l.stayLimit(h.linger) || !l.line.lull(h) {
		return false
	}
	s.since = l.now
	l.held--
	l.t.Held.Add(-1)
	return true
}
