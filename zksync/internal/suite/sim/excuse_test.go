package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// excuse is for how long after a lock was taken away by force its holder may
// not know it.
func (p plan) excuse() time.Duration { return p.slowest()/2 + 700*time.Millisecond }

// blurs are the faults under which what a process goes by may be any age: it is
// connected, and doesn't hear.
var blurs = []string{"deaf", "mute", "blackhole", "delay", "lag", "lagged loss", "cut"}

// unawareLocked is forcedLocked for a grant that was made so long ago: on what a
// server said on the connection that stood, which was no older than the way it
// takes, unless a fault makes that longer.
func (w *world) unawareLocked(x want, ago time.Duration) bool {
	if x.p.murky > 0 || time.Since(x.p.clear) < timeout/3 {
		return w.forcedLocked(x) || w.takenLocked(x, ago+w.excuse())
	}
	return w.takenLocked(x, ago+4*w.latency+20*time.Millisecond) || x.p.dead.Load() || x.p.closing.Load()
}

// forcedLocked reports whether a lock of the process was taken away so short a
// time ago that it need not know.
func (w *world) forcedLocked(x want) bool {
	return w.takenLocked(x, w.excuse()) || x.p.dead.Load() || x.p.closing.Load()
}

func (w *world) takenLocked(x want, ago time.Duration) bool {
	recent := func(what string) bool {
		t, ok := w.taken[what]
		return ok && time.Since(t) <= ago
	}
	return recent(x.p.name) || slices.ContainsFunc(x.seats, func(s seat) bool { return recent(s.path) })
}

// takesLocked is how often that has been.
func (w *world) takesLocked(x want) (n int) {
	for _, s := range x.seats {
		n += w.takes[s.path]
	}
	return n + w.takes[x.p.name]
}

// perhapsLocked reports whether a plain lock that is shared may have been lost:
// nobody knows which of its process's nodes is its own.
func (w *world) perhapsLocked(c *claim) bool {
	switch {
	case c.maybe, c.void, c.p.closing.Load(), w.takenLocked(c.want, 20*time.Millisecond):
		return true
	}
	return c.takes != w.takesLocked(c.want) || !c.lives()
}

// lives reports whether the session of the grant does.
func (c *claim) lives() bool {
	return slices.ContainsFunc(c.w.srv.Sessions(), func(s zktest.SessionInfo) bool { return s.ID == c.session })
}

// lostNow reports whether a Hold knows that it is lost, though its claim may not be over
// yet. Its own process deletes the node as soon as it has ended the context. Without
// latency the next holder may say so in the same moment, and first.
func (c *claim) lostNow() bool {
	return c.hold != nil && c.w.latency == 0 && c.lives() && errors.Is(c.hold.Err(), zksync.ErrLost)
}
