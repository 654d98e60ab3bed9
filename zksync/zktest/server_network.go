package zktest

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// network describes the faults of a way. It is replaced, never changed.
type network struct {
	holdIn, holdOut chan struct{} // not nil while that direction is held; closed when that ends
	delay, jitter   time.Duration
	loss            float64
}

// hold sets which directions are held: all without an argument.
func (n *network) hold(directions []Direction) {
	set := func(gate *chan struct{}, d Direction) {
		switch hold := len(directions) == 0 || slices.Contains(directions, d); {
		case hold && *gate == nil:
			*gate = make(chan struct{})
		case !hold:
			*gate = nil
		}
	}
	set(&n.holdIn, ToServer)
	set(&n.holdOut, ToClient)
}

// way is a part of the network that frames pass: that of a member, or a link.
type way struct{ net *atomic.Pointer[network] }

func newWay() way {
	w := way{new(atomic.Pointer[network])}
	w.net.Store(&network{})
	return w
}

// setNetwork replaces the network by a changed copy. The caller holds srv.mu.
func (w way) setNetwork(change func(*network)) {
	old := w.net.Load()
	n := *old
	change(&n)
	w.net.Store(&n)
	if old.holdIn != nil && n.holdIn == nil {
		close(old.holdIn)
	}
	if old.holdOut != nil && n.holdOut == nil {
		close(old.holdOut)
	}
}

// gate returns a channel that is closed when frames in one direction may pass
// again, or nil if they may pass now.
func (w way) gate(out bool) <-chan struct{} {
	n := w.net.Load()
	if out {
		return n.holdOut
	}
	return n.holdIn
}

// travel returns how much later the next frame arrives by this way, and whether it is
// lost.
func (w way) travel(l *luck) (lag time.Duration, lost bool) {
	n := w.net.Load()
	lag = n.delay
	if n.jitter > 0 {
		lag += time.Duration(l.draw().Int64N(int64(n.jitter)))
	}
	return lag, n.loss > 0 && l.draw().Float64() < n.loss
}

// luck is a source of chance for one direction of one connection. The frames of one
// connection meet the same chances in each run, whatever others do meanwhile.
type luck struct {
	seed, stream uint64
	rng          *rand.Rand // nil until it is needed
}

func (l *luck) draw() *rand.Rand {
	if l.rng == nil {
		l.rng = rand.New(rand.NewPCG(l.seed, l.stream))
	}
	return l.rng
}

// lucks returns those of the member's latest connection.
func (m *Member) lucks() (in, out luck) {
	stream := uint64(m.index+1)<<40 | uint64(m.number)<<1
	return luck{seed: m.srv.cfg.seed, stream: stream}, luck{seed: m.srv.cfg.seed, stream: stream | 1}
}

// gate is that of the member, or else of the link.
func (c *conn) gate(out bool) <-chan struct{} {
	if gate := c.member.gate(out); gate != nil || c.link == nil {
		return gate
	}
	return c.link.gate(out)
}

// travel is along the link and to the member.
func (c *conn) travel(l *luck) (lag time.Duration, lost bool) {
	lag, lost = c.member.travel(l)
	if c.link != nil {
		more, also := c.link.travel(l)
		lag, lost = lag+more, lost || also
	}
	return lag, lost
}
