package conn

import (
	"testing"
	"time"
	"unsafe"
)

// A session counts as alive until T/2 after the sending of the last write that the
// quorum has answered, and no proof of another session counts for it.
func TestQuorumClock(t *testing.T) {
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	var q quorumClock
	q.timeout = T
	q.proved(start, start)
	if q.alive(0, start) {
		t.Error("no session is measured, and one is alive")
	}
	q.measure(1)
	if q.alive(1, start) || q.aliveFor(1, start, T/6) || q.aliveFor(1, start, T) {
		t.Error("alive before the first proof")
	}
	q.proved(at(0), at(T/4))
	for _, test := range []struct {
		session int64
		now, d  time.Duration
		want    bool
	}{
		{1, T / 4, 0, true},
		{1, T/2 - 1, 0, true},
		{1, T / 2, 0, false},
		{1, T/3 - 1, T / 6, true},
		{1, T / 3, T / 6, false},
		{0, T / 4, 0, false},
		{2, T / 4, 0, false},
	} {
		if got := q.aliveFor(test.session, at(test.now), test.d); got != test.want {
			t.Errorf("%+v: alive %v", test, got)
		}
		if got := q.alive(test.session, at(test.now)); test.d == 0 && got != test.want {
			t.Errorf("%+v: alive %v", test, got)
		}
	}
	if due := q.lossDue(); !due.Equal(at(T / 2)) {
		t.Errorf("the loss is due after %v, want %v", due.Sub(start), T/2)
	}

	q.proved(at(-T), at(T/3)) // answered after a request that was sent later
	if !q.contact.Equal(at(0)) || !q.answered.Equal(at(T/3)) {
		t.Errorf("contact at %v, answered at %v", q.contact.Sub(start), q.answered.Sub(start))
	}
	q.measure(1)
	if !q.alive(1, at(T/4)) {
		t.Error("a reconnect of the same session takes its proof away")
	}
	q.measure(2)
	q.measure(1)
	if q.alive(1, at(T/4)) || q.alive(2, at(T/4)) {
		t.Error("the proof of another session counts")
	}
}

// The larger of the monotonic and the wall clock counts: either may stand still, or be
// set back.
func TestElapsed(t *testing.T) {
	now := time.Now()
	ago := now.Add(-time.Minute)
	for name, at := range map[string]time.Time{
		"both":     ago,
		"wallOnly": ago.Round(0),
		// Asleep: the monotonic clock has seen no minute pass.
		"suspended": moveWall(now, -time.Minute),
		// Set back: the wall clock has not.
		"setBack": moveWall(ago, time.Minute),
	} {
		if d := between(at, now); d < time.Minute || d > time.Minute+time.Second*30 {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// moveWall changes the wall clock's reading in t and keeps the monotonic one. Package
// time has no way to do that.
func moveWall(t time.Time, d time.Duration) time.Time {
	const seconds = 30 // the bit at which they begin, above the nanoseconds
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(int64(d/time.Second)) << seconds
	return t
}
