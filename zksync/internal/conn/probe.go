package conn

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// probeLoop runs while there are guards, and for a while after the last one, so that holds
// that come and go quickly don't start a goroutine each. It does not wait for the answers
// to its probes, since it is there to notice that none comes.
func (c *Conn) probeLoop() {
	var p prober
	var idle bool           // there was no node to check the last time
	var round chan struct{} // closed when the newest round has ended
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		paths, v, changed := c.judge(idle)
		if changed == nil {
			return
		}
		idle = !v.nodes
		var do step
		p, do = p.next(v)
		if do.probe {
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
			round, p = nil, p.roundEnded()
		}
	}
}

// judge reports to the guards that have lost by now. It returns the nodes of the others,
// the view for the prober, and a channel that is closed when the state changes. That
// channel is nil if mayEnd is set and there are no guards, or if the Conn is closed. The
// loop then ends, and the next guard starts another one.
func (c *Conn) judge(mayEnd bool) (paths []string, v view, changed <-chan struct{}) {
	c.mu.Lock()
	if mayEnd && len(c.guards) == 0 || c.closed {
		c.probing = false
		c.mu.Unlock()
		return nil, view{}, nil
	}
	changed = c.changed
	lost, paths, v := c.judgeLocked(time.Now())
	c.mu.Unlock()
	lost.report()
	return paths, v, changed
}

// judgeLocked ends the guards that have lost by now, and returns the view for the
// prober. Both use the same time. With a later time the prober would assume that a loss
// was reported that becomes due between the two, and would not wake for it.
func (c *Conn) judgeLocked(now time.Time) (lost losses, paths []string, v view) {
	lost, paths = c.guards.judge(&c.clock, now)
	return lost, paths, view{now: now, clock: c.clock, up: c.state.Up, epoch: c.state.Epoch, nodes: len(paths) > 0}
}

// gone reports to the guards of a node that it is gone.
func (c *Conn) gone(path string) {
	c.mu.Lock()
	lost := c.guards.gone(path)
	c.mu.Unlock()
	lost.report()
}

// cut closes the TCP connection if it is still the one of that epoch, so that the
// client moves to another server. It leaves the connection of a program's client
// open.
func (c *Conn) cut(epoch uint64) {
	c.mu.Lock()
	l, same := c.link, c.state.Epoch == epoch && c.state.Up
	c.mu.Unlock()
	if same && c.foreign == nil {
		c.cfg.Logger.Warn("zksync: no answer from the quorum, moving to another server", "server", l.server())
		l.cut()
	}
}

// Prove asks the quorum whether the session is alive and the nodes exist. A node
// that may not be read counts as one that exists, unless the answer says that it is
// gone.
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
			paths = paths[at+1:] // the answer says nothing of these
		case !c.Alive(session):
			return ErrNoContact
		default:
			return nil
		}
	}
}
