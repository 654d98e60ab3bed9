package conn

import (
	"context"
	"time"
)

// State is the state of the connection at a moment.
type State struct {
	Session int64  // the session that exists, or may still exist; 0: none
	Epoch   uint64 // counts TCP connections with a session
	Up      bool   // connected, with a session
	Server  string // the server of this or the last connection
	Expired bool   // the session before this one is over (only OnState gets this, once)
}

// State returns the state, and a channel that is closed when it changes.
func (c *Conn) State() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

// Mine reports whether the session is or was one of this Conn.
func (c *Conn) Mine(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.past[session]
	return ok
}

// Await returns the state as soon as the connection is up. It fails with the cause of
// ctx when that ends, and with ErrClosed.
func (c *Conn) Await(ctx context.Context) (State, error) { return c.await(ctx, false) }

// await is Await. first is for the first connection: await then fails when a server
// refuses the credentials, and succeeds even if ctx has ended. Later on the servers
// may accept the credentials again.
func (c *Conn) await(ctx context.Context, first bool) (State, error) {
	for {
		c.mu.Lock()
		st, changed, refusal, closed := c.state, c.changed, c.refusal, c.closedLocked()
		c.mu.Unlock()
		switch {
		case closed != nil:
			return st, closed
		case st.Up && !first && ctx.Err() != nil:
			// A caller that tries again until ctx ends has to notice that it has.
			return st, context.Cause(ctx)
		case st.Up:
			return st, nil
		case first && refusal != nil:
			return st, refusal
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return st, context.Cause(ctx)
		}
	}
}

// closedLocked returns an error that Is ErrClosed if there will be no session any
// more.
func (c *Conn) closedLocked() error {
	switch {
	case c.closed:
		return ErrClosed
	case c.foreign.isClosed():
		return ErrClientClosed
	}
	return nil
}

// setLocked changes the state and announces it.
func (c *Conn) setLocked(st State) {
	c.clock.measure(st.Session)
	if st.Session != 0 {
		c.past[st.Session] = struct{}{}
	}
	c.state = st
	c.state.Expired = false
	c.pipe.Store(c.link.pipeOf(c.state))
	c.keepMomentLocked()
	if !st.Up {
		c.watches.drop()
	}
	c.announceLocked()
	if c.cfg.OnState != nil {
		c.cfg.OnState(st)
	}
}

// announceLocked wakes all that wait for a change.
func (c *Conn) announceLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// up notes that there is a session on a new TCP connection. sent is when the connect
// request was sent if the quorum has answered it, and zero otherwise: the quorum
// agrees to each new session, but a deposed leader may still accept a known one.
func (c *Conn) up(l *link, session int64, timeout time.Duration, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != l || c.closed {
		return
	}
	c.clock.timeout = timeout
	c.watches.drop()
	c.setLocked(State{Session: session, Epoch: c.state.Epoch + 1, Up: true, Server: l.server()})
	if !sent.IsZero() {
		c.clock.proved(sent, time.Now())
		c.keepMomentLocked()
	}
}

// down notes that the TCP connection has ended.
func (c *Conn) down(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l && c.state.Up && !c.closed {
		st := c.state
		st.Up = false
		c.setLocked(st)
	}
}

// pipeEnded notes that the connection of a pipe has ended.
func (c *Conn) pipeEnded(p *pipe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pipe.Load() == p && !c.closed {
		st := c.state
		st.Up = false
		c.setLocked(st)
	}
}

// expired notes that the session is over.
func (c *Conn) expired(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l && c.state.Session != 0 && !c.closed {
		c.setLocked(State{Epoch: c.state.Epoch, Server: c.state.Server, Expired: true})
	}
}

// refused notes that a server refuses the credentials, for a Dial that waits.
func (c *Conn) refused(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal == nil && c.state.Session == 0 {
		c.refusal = err
		c.announceLocked()
	}
}
