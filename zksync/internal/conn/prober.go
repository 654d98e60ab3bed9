package conn

import "time"

// prober decides when the session's life is to be proven, and when a connection is
// to be given up because nothing proves it. It knows no clock and no connection: it
// goes by what it is shown. The zero value has proven nothing yet.
type prober struct {
	began time.Time // the newest round of probes
	asked uint64    // the connection it began on; 0: there was none yet
	open  bool      // parts of it have no answer
	on    uint64    // the connection that they are waited for on
	since time.Time // they may be waited for there
	cut   bool      // that connection was given up for them
}

// sight is what a prober is shown.
type sight struct {
	now      time.Time
	timeout  time.Duration // T
	up       bool
	epoch    uint64    // of the connection
	contact  time.Time // sending of the last quorum write that was answered
	answered time.Time // when that answer came
	nodes    bool      // there is something to ask for
}

// step is what a prober wants done.
type step struct {
	ask  bool          // begin a round, all parts together
	cut  bool          // give the connection up
	wait time.Duration // look again then, unless something changes before
}

// next begins a round each T/6, and at once on a new connection. A connection is
// given up when something was sent on it and nothing at all was answered for T/6: a
// round may take longer than that, as long as answers come.
func (p prober) next(v sight) (prober, step) {
	var do step
	t := v.timeout / 6
	if p.began.IsZero() {
		p.began = v.contact
	}
	due := p.began.Add(t)
	if p.asked != 0 && p.asked != v.epoch {
		due = v.now // say at once that we live
	}
	switch {
	case p.open && p.on != v.epoch && v.up:
		p.on, p.since, p.cut = v.epoch, v.now, false
	case !p.open && v.up && v.nodes && !v.now.Before(due):
		do.ask = true
		p.began, p.asked, p.open = v.now, v.epoch, true
		p.on, p.since, p.cut = v.epoch, v.now, false
	}
	silent := later(p.since, v.answered).Add(t)
	waits := p.open && !p.cut && v.up
	if waits && !v.now.Before(silent) {
		do.cut, p.cut, waits = true, true, false
	}
	at := v.contact.Add(patience(v.timeout)) // the loss
	if waits {
		at = sooner(at, silent, v.now)
	}
	if !p.open && v.up {
		at = sooner(at, due, v.now)
	}
	if do.wait = at.Sub(v.now); do.wait <= 0 {
		do.wait = t
	}
	return p, do
}

// over notes that the round has ended.
func (p prober) over() prober {
	p.open = false
	return p
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// sooner returns the first of two times, not counting one that has passed.
func sooner(a, b, now time.Time) time.Time {
	if b.Before(a) || !a.After(now) {
		return b
	}
	return a
}
