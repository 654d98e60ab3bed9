package conn

import "time"

// quorumClock measures how long ago the quorum last proved that a session lives.
//
// Only the answer to a write of the quorum is a proof. Pings and reads prove nothing:
// a follower that is cut off from its leader answers them for seconds, while the
// leader ends the session and another one gets the lock.
//
// It reads no clock; the callers pass the time. It has no mutex. Conn.mu guards the
// one of a Conn. The zero value measures no session.
type quorumClock struct {
	timeout  time.Duration // T, the session timeout
	session  int64         // the session that is measured; 0: none
	contact  time.Time     // when the last write that the quorum answered was sent; zero: no proof yet
	answered time.Time     // when the last such answer came
}

// measure chooses the session to measure. The proofs of another session don't count
// for it.
func (q *quorumClock) measure(session int64) {
	if session != q.session {
		q.session, q.contact = session, time.Time{}
	}
}

// proved records that the quorum has answered a write at now. The time when it was sent
// counts: the servers may have seen the write, and so the session, right after that.
func (q *quorumClock) proved(sent, now time.Time) {
	q.contact, q.answered = latest(q.contact, sent), now
}

// alive reports whether the session is known to live at now.
func (q *quorumClock) alive(session int64, now time.Time) bool {
	return session != 0 && session == q.session && between(q.contact, now) < proofHolds(q.timeout)
}

// aliveFor reports whether the session is alive, and will count as alive for d more
// without another answer.
func (q *quorumClock) aliveFor(session int64, now time.Time, d time.Duration) bool {
	// d is subtracted, since a sum overflows where there is no proof yet.
	return q.alive(session, now) && between(q.contact, now) < proofHolds(q.timeout)-d
}

// lossDue returns when the session stops counting as alive without another answer.
func (q *quorumClock) lossDue() time.Time { return q.contact.Add(proofHolds(q.timeout)) }

// proofHolds is how long a proof holds: half the session timeout. The servers may
// learn up to half a tick late that the session was active, and the holder of a lock
// needs time to stop.
func proofHolds(timeout time.Duration) time.Duration { return timeout / 2 }

// between returns the time from t to now, by the larger of the monotonic and the wall
// clock. The monotonic clock stands still while the machine sleeps, and the wall clock
// can be set back.
func between(t, now time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// moment is a copy of the state and the clock, which is read without a mutex: locks that
// pass between goroutines ask for it each time.
type moment struct {
	up    bool
	epoch uint64
	clock quorumClock // of the session of the state
}

// keepMomentLocked publishes the state and the clock after a change.
func (c *Conn) keepMomentLocked() {
	c.moment.Store(&moment{up: c.state.Up, epoch: c.state.Epoch, clock: c.clock})
}

// Alive reports whether the session is known to live now: less than T/2 ago a write
// was sent that the quorum has answered.
func (c *Conn) Alive(session int64) bool { return c.AliveAt(session, time.Now()) }

// AliveAt does the same as Alive for a time that the caller has just read.
func (c *Conn) AliveAt(session int64, now time.Time) bool {
	return c.moment.Load().clock.alive(session, now)
}

// Current reports whether a watch has had no event, and was set on the connection that is
// up and has the session.
func (c *Conn) Current(w *Watch, session int64) bool {
	over, _ := w.Over()
	m := c.moment.Load()
	return !over && m.up && m.epoch == w.Epoch && m.clock.session == session
}

// AliveFor reports whether Alive is true, and will be true for d more without another
// answer.
func (c *Conn) AliveFor(session int64, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.aliveFor(session, time.Now(), d)
}

// Timeout returns T, the session timeout that the servers granted.
func (c *Conn) Timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.timeout
}
