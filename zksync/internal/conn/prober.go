package conn

import "time"

// prober decides when to prove that the session lives, and when to give a connection
// up because no proof comes. It reads no clock and makes no request: it decides from
// a view. The zero value has begun no round.
type prober struct {
	began      time.Time // when the newest round of probes began
	beganEpoch uint64    // the connection on which that round began; 0: no round yet
	pending    bool      // some of its requests have no answer
	waitEpoch  uint64    // the connection on which their answers are awaited
	waitSince  time.Time // since when they are awaited there
	gaveUp     bool      // that connection was given up because of them
}

// view is the input for the decision of a prober.
type view struct {
	now   time.Time
	clock quorumClock
	up    bool
	epoch uint64 // of the connection
	nodes bool   // there are nodes to check
}

// step is the decision of a prober.
type step struct {
	probe bool          // begin a round
	cut   bool          // give the connection up
	wait  time.Duration // decide again after that time, or when something changes
}

// next begins a round every T/6, and at once on a new connection. It gives a
// connection up when a request has waited on it for T/6, and no request at all was
// answered in that time. A round may take longer than T/6 while answers come.
func (p prober) next(v view) (prober, step) {
	var do step
	sixth := v.clock.timeout / 6
	if p.began.IsZero() {
		p.began = v.clock.contact
	}
	due := p.began.Add(sixth)
	if p.beganEpoch != 0 && p.beganEpoch != v.epoch {
		due = v.now // prove at once that the session lives
	}
	switch {
	case p.pending && p.waitEpoch != v.epoch && v.up:
		p = p.await(v)
	case !p.pending && v.up && v.nodes && !v.now.Before(due):
		do.probe = true
		p.began, p.beganEpoch, p.pending = v.now, v.epoch, true
		p = p.await(v)
	}
	waits := p.pending && !p.gaveUp && v.up
	patience := latest(p.waitSince, v.clock.answered).Add(sixth)
	if waits && !v.now.Before(patience) {
		do.cut, p.gaveUp, waits = true, true, false
	}
	at := v.clock.lossDue()
	if waits {
		at = sooner(at, patience, v.now)
	}
	if !p.pending && v.up {
		at = sooner(at, due, v.now)
	}
	if do.wait = at.Sub(v.now); do.wait <= 0 {
		do.wait = sixth
	}
	return p, do
}

// await records that the answers are now awaited on the connection in view.
func (p prober) await(v view) prober {
	p.waitEpoch, p.waitSince, p.gaveUp = v.epoch, v.now, false
	return p
}

// roundEnded notes that no request of the round waits any more.
func (p prober) roundEnded() prober {
	p.pending = false
	return p
}

// sooner returns the earlier of two times, and b if a has passed by now.
func sooner(a, b, now time.Time) time.Time {
	if b.Before(a) || !a.After(now) {
		return b
	}
	return a
}
