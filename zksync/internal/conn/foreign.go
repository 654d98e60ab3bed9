package conn

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// Adapt uses a client that the program has. cfg.Timeout is what the ensemble
// granted its session, which the client does not tell (conn.go:714). The client's
// state is polled: its event channel belongs to the program, and the client drops
// what does not fit in there (conn.go:359-363). Close leaves the client open.
func Adapt(zc *zk.Conn, cfg Config) *Conn {
	c := newConn(cfg)
	c.foreign, c.limit = true, serverLimit
	c.orphan = make(chan struct{})
	c.fed = make(map[watchKey]struct{})
	c.link = &link{c: c, zc: zc}
	c.poll(zc)
	c.wg.Add(1)
	go c.pollLoop(zc)
	return c
}

func (c *Conn) pollLoop(zc *zk.Conn) {
	defer c.wg.Done()
	tick := time.NewTicker(min(max(c.cfg.Timeout/50, 5*time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-tick.C:
			c.poll(zc)
			if c.suspect(zc) && c.asking.CompareAndSwap(false, true) {
				go c.askClosed(zc)
			}
		}
	}
}

// refresh brings the state of a foreign client up to date, on both sides of a
// request: what the last poll saw would name the wrong session.
func (c *Conn) refresh() {
	if c.foreign {
		c.poll(c.Zk())
	}
}

// poll compares what the client says with what is known. The session and the server
// are asked for on both sides of the state: while they differ they are changing.
// Another server is another connection, even if nobody saw the state between.
func (c *Conn) poll(zc *zk.Conn) {
	c.polling.Lock()
	defer c.polling.Unlock()
	session, server := zc.SessionID(), zc.Server()
	up := zc.State() == zk.StateHasSession && session != 0 && zc.SessionID() == session && zc.Server() == server
	c.mu.Lock()
	st, l := c.state, c.link
	c.mu.Unlock()
	if st.Session != 0 && session != st.Session {
		// The client keeps the id until it is told that the session is over
		// (conn.go:705-713), whether the next one is up by now or not.
		c.expired(l)
		st.Up = false
	}
	switch {
	case up && st.Up && server != st.Server:
		c.down(l)
		c.upForeign(session, server)
	case up && !st.Up:
		c.upForeign(session, server)
	case !up && st.Up:
		c.down(l)
	}
}

func (c *Conn) upForeign(session int64, server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.dropWatchesLocked()
		c.setLocked(State{Session: session, Epoch: c.state.Epoch + 1, Up: true, Server: server})
	}
}

// suspect reports whether the program may have closed the client. It has been found,
// twice in a row, with no connection and without a try to get one: an open client
// leaves that state at once (conn.go:494, 367-372), a closed one never. Or it has had
// no session for T/2: one that was closed during a handshake may not notice for 6.67 T.
func (c *Conn) suspect(zc *zk.Conn) bool {
	c.polling.Lock()
	defer c.polling.Unlock()
	switch zc.State() {
	case zk.StateHasSession:
		c.resting, c.away = 0, time.Time{}
		return false
	case zk.StateDisconnected:
		c.resting++
	default:
		c.resting = 0
	}
	if c.away.IsZero() {
		c.away = time.Now()
	}
	return c.resting > 1 || elapsed(c.away) >= c.cfg.Timeout/2
}

// askClosed finds out whether the program has closed the client, which does not tell:
// every request then fails at once (conn.go:905-943). On an open client a request
// waits for a connection, and fails that way only if it was sent on one that is lost
// before the answer. So many fail in a row, in far less time than as many connections
// take to come and go.
func (c *Conn) askClosed(zc *zk.Conn) {
	defer c.asking.Store(false)
	const requests, atMost = 64, 5 * time.Millisecond
	began := time.Now()
	for range requests {
		_, _, err := zc.Exists("/")
		if !errors.Is(err, zk.ErrConnectionClosed) || zc.State() == zk.StateHasSession {
			return
		}
	}
	if time.Since(began) > atMost {
		return // it is asked again
	}
	c.poll(zc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closedLocked() == nil {
		close(c.orphan)
		c.announceLocked()
	}
}

// Abandoned returns a channel that is closed when the program is known to have
// closed the client. It is nil for a client that belongs to the Conn.
func (c *Conn) Abandoned() <-chan struct{} {
	return c.orphan
}
