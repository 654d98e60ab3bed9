package conn

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// foreignClient is a client that belongs to the program, and what is known of it.
// Its state is polled: its event channel belongs to the program, and the client drops
// the events that do not fit into it (conn.go:359-363).
type foreignClient struct {
	zc       *zk.Conn
	feed     *feed
	closed   chan struct{} // closed when the program is known to have closed the client
	checking atomic.Bool   // checkClosed runs

	polling sync.Mutex // one look at the client at a time; taken before Conn.mu
	absence absence    // guarded by polling
}

// isClosed reports whether the program is known to have closed the client. It is
// false for nil.
func (f *foreignClient) isClosed() bool {
	if f == nil {
		return false
	}
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// Adapt uses a client that the program has made. cfg.Timeout has to be the session
// timeout that the servers have granted, since the client does not report it
// (conn.go:714). Close leaves the client open.
func Adapt(zc *zk.Conn, cfg Config) *Conn {
	c := newConn(cfg)
	c.limit = serverLimit
	c.link = &link{c: c, zc: zc}
	c.foreign = &foreignClient{zc: zc, closed: make(chan struct{})}
	c.foreign.feed = &feed{
		watches: c.watches,
		timeout: cfg.Timeout,
		life:    c.life,
		start:   c.wg.Go,
		stat: func(path string) (*zk.Stat, error) {
			stat, _, err := c.Stat(path)
			return stat, err
		},
	}
	c.poll()
	c.wg.Go(c.pollLoop)
	c.wg.Go(c.logOutages)
	return c
}

// Abandoned returns a channel that is closed when the program is known to have
// closed its client. It is nil if the client is this Conn's own.
func (c *Conn) Abandoned() <-chan struct{} {
	if c.foreign == nil {
		return nil
	}
	return c.foreign.closed
}

func (c *Conn) pollLoop() {
	f := c.foreign
	tick := time.NewTicker(min(max(c.cfg.Timeout/50, 5*time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-tick.C:
			c.poll()
			if f.suspect(c.cfg.Timeout) && f.checking.CompareAndSwap(false, true) {
				go c.checkClosed()
			}
		}
	}
}

// refresh brings the state of a program's client up to date, before and after each
// request. The state of the last tick could name another session than the one that
// runs the request.
func (c *Conn) refresh() {
	if c.foreign != nil {
		c.poll()
	}
}

// poll compares the client's state with the known one. It reads the session and the
// server before and after the state, and they count only if they have not changed in
// between. Another server means another connection, even if no poll saw the client
// without one.
func (c *Conn) poll() {
	f, zc := c.foreign, c.foreign.zc
	f.polling.Lock()
	defer f.polling.Unlock()
	session, server := zc.SessionID(), zc.Server()
	up := zc.State() == zk.StateHasSession && session != 0 && zc.SessionID() == session && zc.Server() == server
	c.mu.Lock()
	st, l := c.state, c.link
	c.mu.Unlock()
	if st.Session != 0 && session != st.Session {
		// The client keeps the id until a server says that the session is over
		// (conn.go:705-713), whether there is a new session by now or not.
		c.expired(l)
		st.Up, st.Session = false, 0
	}
	switch {
	case !up && session != 0 && st.Session == 0:
		c.begunForeign(session)
	case up && st.Up && server != st.Server:
		c.down(l)
		c.upForeign(session, server)
	case up && !st.Up:
		c.upForeign(session, server)
	case !up && st.Up:
		c.down(l)
	}
}

// begunForeign notes a session whose first connection was lost before a poll saw it. A
// request may have run under it: the client sends at once what waits in its queue.
func (c *Conn) begunForeign(session int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.state.Session = session
		c.past[session] = struct{}{}
		c.clock.measure(session)
		c.announceLocked()
	}
}

// upForeign does the same as up for a program's client, which does not report the session
// timeout.
func (c *Conn) upForeign(session int64, server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.watches.drop()
		c.setLocked(State{Session: session, Epoch: c.state.Epoch + 1, Up: true, Server: server})
	}
}

// suspect looks at the client, and reports whether the program may have closed it.
func (f *foreignClient) suspect(timeout time.Duration) bool {
	f.polling.Lock()
	defer f.polling.Unlock()
	return f.absence.suspicious(f.zc.State(), time.Now(), timeout)
}

// absence records for how long a client has had no session.
type absence struct {
	idle  int       // looks in a row that found it without a connection and not trying to get one
	since time.Time // the first look in a row that found no session; zero: it has one
}

// suspicious records one look at the client's state, and reports whether the client
// may have been closed. Either it was idle at two looks in a row: an open client
// leaves that state at once (conn.go:494, 367-372), a closed one never does. Or it has
// had no session for T/2: a client that was closed during a handshake may not notice
// that for 6.67 T.
func (a *absence) suspicious(state zk.State, now time.Time, timeout time.Duration) bool {
	switch state {
	case zk.StateHasSession:
		*a = absence{}
		return false
	case zk.StateDisconnected:
		a.idle++
	default:
		a.idle = 0
	}
	if a.since.IsZero() {
		a.since = now
	}
	return a.idle > 1 || between(a.since, now) >= timeout/2
}

// checkClosed finds out whether the program has closed the client, which does not
// report that. On a closed client every request fails at once (conn.go:905-943). On an open
// one a request waits for a connection, and fails in the same way only if it was sent
// on a connection that is lost before the answer. So checkClosed makes many requests
// in a row: that many connections could not come and go in so short a time.
func (c *Conn) checkClosed() {
	f := c.foreign
	defer f.checking.Store(false)
	const requests, atMost = 64, 5 * time.Millisecond
	start := time.Now()
	for range requests {
		_, _, err := f.zc.Exists("/")
		if !errors.Is(err, zk.ErrConnectionClosed) || f.zc.State() == zk.StateHasSession {
			return
		}
	}
	if time.Since(start) > atMost {
		return // pollLoop starts another check
	}
	c.poll()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedLocked() == nil {
		close(f.closed)
		c.announceLocked()
	}
}
