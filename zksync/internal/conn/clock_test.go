package conn

import (
	"testing"
	"time"
	"unsafe"
)

// The larger of the monotonic and the wall clock counts: either may stand
// still, or be set back.
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

// moveWall changes the wall clock's reading in t and leaves the monotonic one,
// as package time has no way to.
func moveWall(t time.Time, d time.Duration) time.Time {
	const seconds = 30 // where they begin, above the nanoseconds
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(int64(d/time.Second)) << seconds
	return t
}
