package conn

import (
	"errors"
	"slices"
	"time"
)

// The reasons for which a guard reports a loss.
var (
	ErrSessionOver = errors.New("the ZooKeeper session is over")
	ErrNoContact   = errors.New("no answer from the quorum for half the session timeout")
	ErrNodeGone    = errors.New("the lock's node was deleted")
)

// Guard asks for a proof, every T/6, that a session lives and that nodes of it exist.
type Guard struct {
	c       *Conn
	paths   []string
	session int64
	lost    func(reason error) (then func())
}

// Guard begins to guard nodes of a session that is alive. lost, if not nil, is
// called once: when the session is over, when the quorum has not answered for T/2, or
// when one of the nodes is gone. The function that it returns is called after the
// lost of all other guards that end for the same reason at that moment. Neither may
// block. Stop ends the guard.
func (c *Conn) Guard(paths []string, session int64, lost func(reason error) (then func())) *Guard {
	g := &Guard{c: c, paths: paths, session: session, lost: lost}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards[g] = struct{}{}
	if !c.probing && !c.closed {
		c.probing = true
		c.wg.Go(c.probeLoop)
	}
	return g
}

// Stop ends the guard. A loss that was found before may still be reported.
func (g *Guard) Stop() {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	delete(g.c.guards, g)
}

// guardSet has the guards that have not ended. It has no mutex. Conn.mu guards the one
// of a Conn.
type guardSet map[*Guard]struct{}

// losses records the guards that have ended, and why. The zero value is ready to use.
type losses struct{ reasons map[*Guard]error }

// end removes a guard from the set and records the reason.
func (s guardSet) end(g *Guard, reason error, lost *losses) {
	if lost.reasons == nil {
		lost.reasons = make(map[*Guard]error)
	}
	lost.reasons[g] = reason
	delete(s, g)
}

// judge ends the guards whose session is not the one that the clock measures, or does
// not count as alive at now. It returns the nodes of the others.
func (s guardSet) judge(clock *quorumClock, now time.Time) (lost losses, paths []string) {
	alive := clock.alive(clock.session, now)
	for g := range s {
		switch {
		case g.session != clock.session:
			s.end(g, ErrSessionOver, &lost)
		case !alive && g.lost != nil:
			s.end(g, ErrNoContact, &lost)
		default:
			paths = append(paths, g.paths...)
		}
	}
	return lost, paths
}

// gone ends the guards of a node.
func (s guardSet) gone(path string) (lost losses) {
	for g := range s {
		if slices.Contains(g.paths, path) {
			s.end(g, ErrNodeGone, &lost)
		}
	}
	return lost
}

// report calls the lost function of each guard, and then the functions that these have
// returned.
func (l losses) report() {
	var then []func()
	for g, reason := range l.reasons {
		if g.lost != nil {
			then = append(then, g.lost(reason))
		}
	}
	for _, f := range then {
		f()
	}
}
