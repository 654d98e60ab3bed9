package conn

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// Why a guard reports a loss.
var (
	ErrSessionOver = errors.New("the ZooKeeper session is over")
	ErrNoContact   = errors.New("no answer from the quorum for half the session timeout")
	ErrNodeGone    = errors.New("the lock's node was deleted")
)

// elapsed returns the time since t, by the larger of the monotonic and the wall
// clock. The monotonic clock stands still while the machine sleeps.
func elapsed(t time.Time) time.Duration { return between(t, time.Now()) }

// between is elapsed as of now, a reading of both clocks.
func between(t, now time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Alive reports whether the session is known to live now: less than half its
// timeout ago a quorum write was sent that has been answered. Pings and reads
// prove nothing: a follower that is cut off from its leader answers them for
// seconds, while the leader expires the session and the next one holds the lock.
func (c *Conn) Alive(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aliveLocked(session, time.Now())
}

// AliveFor is Alive, and reports whether it will be true for d more even if
// nothing is heard until then.
func (c *Conn) AliveFor(session int64, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return c.aliveLocked(session, now) && between(c.contact, now)+d < patience(c.timeout)
}

func (c *Conn) aliveLocked(session int64, now time.Time) bool {
	return session != 0 && c.state.Session == session && between(c.contact, now) < patience(c.timeout)
}

// patience is how long a session counts as alive after the last proof.
func patience(t time.Duration) time.Duration { return t / 2 }

// Guard asks for the life of a session to be proven every sixth of its
// timeout, with a transaction that names nodes.
type Guard struct {
	c       *Conn
	paths   []string
	session int64
	lost    func(reason error) (then func())
}

// Guard begins to guard nodes of a session that is alive. lost, if not nil, is
// called once when the session is over, out of contact for T/2, or one of the
// nodes gone. What it returns is called after lost of all guards that the same
// cause ends. Neither may block. Stop ends the guard.
func (c *Conn) Guard(paths []string, session int64, lost func(reason error) (then func())) *Guard {
	g := &Guard{c: c, paths: paths, session: session, lost: lost}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards[g] = struct{}{}
	if !c.probing && !c.closed {
		c.probing = true
		c.wg.Add(1)
		go c.probeLoop()
	}
	return g
}

// Stop ends the guard. A loss that was found already may still be reported.
func (g *Guard) Stop() {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	delete(g.c.guards, g)
}

// probeLoop runs while there are guards. It never waits for an answer: a probe
// that none comes to is what it is there for.
func (c *Conn) probeLoop() {
	defer c.wg.Done()
	var p prober
	var round chan struct{} // closed when the newest round is over
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.mu.Lock()
		if len(c.guards) == 0 || c.closed {
			c.probing = false
			c.mu.Unlock()
			return
		}
		changed := c.changed
		lost, paths, v := c.lookLocked(time.Now())
		c.mu.Unlock()
		report(lost)
		var do step
		p, do = p.next(v)
		if do.ask {
			round = make(chan struct{})
			go c.probe(paths, round)
		}
		if do.cut {
			c.cut(v.epoch)
		}
		timer.Reset(do.wait)
		select {
		case <-timer.C:
		case <-changed:
		case <-c.life.Done():
		case <-round:
			round, p = nil, p.over()
		}
	}
}

// lookLocked judges as of now, and returns what a prober is to be shown. Both go by
// the same time: for a loss due between two the prober would not look again, as it
// takes those for told who have lost by its own.
func (c *Conn) lookLocked(now time.Time) (lost map[*Guard]error, paths []string, v sight) {
	lost, paths = c.judgeLocked(now)
	return lost, paths, sight{
		now: now, timeout: c.timeout, up: c.state.Up, epoch: c.state.Epoch,
		contact: c.contact, answered: c.answered, nodes: len(paths) > 0,
	}
}

// judgeLocked takes out the guards that have lost by now, and returns the nodes to
// ask for.
func (c *Conn) judgeLocked(now time.Time) (lost map[*Guard]error, paths []string) {
	alive := c.aliveLocked(c.state.Session, now)
	for g := range c.guards {
		var reason error
		switch {
		case g.session != c.state.Session:
			reason = ErrSessionOver
		case !alive && g.lost != nil:
			reason = ErrNoContact
		default:
			paths = append(paths, g.paths...)
			continue
		}
		if lost == nil {
			lost = make(map[*Guard]error)
		}
		lost[g] = reason
		delete(c.guards, g)
	}
	return lost, paths
}

// report tells of losses: of all of them before anything else is done.
func report(lost map[*Guard]error) {
	var then []func()
	for g, reason := range lost {
		if g.lost != nil {
			then = append(then, g.lost(reason))
		}
	}
	for _, f := range then {
		f()
	}
}

func (c *Conn) gone(path string) {
	lost := make(map[*Guard]error)
	c.mu.Lock()
	for g := range c.guards {
		if slices.Contains(g.paths, path) {
			lost[g] = ErrNodeGone
			delete(c.guards, g)
		}
	}
	c.mu.Unlock()
	report(lost)
}

// cut closes the TCP connection if it is still the one of that epoch, so that
// the client moves to another server.
func (c *Conn) cut(epoch uint64) {
	c.mu.Lock()
	l, same := c.link, c.state.Epoch == epoch && c.state.Up
	c.mu.Unlock()
	if same && !c.foreign {
		c.cfg.Logger.Warn("zksync: no answer from the quorum, moving to another server", "server", l.server())
		l.cut()
	}
}

// Prove makes sure that the session is alive and the nodes exist, by asking the
// quorum. A node that may not be read counts as one that exists, if nothing else is
// said of it.
func (c *Conn) Prove(session int64, paths ...string) error {
	for {
		at, why, ran, err := c.check(paths)
		switch {
		case err != nil:
			return err
		case ran.Session() != session:
			return ErrSessionOver
		case errors.Is(why, zk.ErrNoNode):
			return fmt.Errorf("%w: %s", ErrNodeGone, paths[at])
		case errors.Is(why, zk.ErrNoAuth) && at+1 < len(paths):
			paths = paths[at+1:] // what it hides
		case !c.Alive(session):
			return ErrNoContact
		default:
			return nil
		}
	}
}
