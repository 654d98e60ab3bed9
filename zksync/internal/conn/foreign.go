package conn

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// Adapt uses a client that the program has. timeout is what the ensemble
// granted its session: the client does not tell. Its state is polled, since
// its event channel has one reader and drops what is not read (G16); Close
// leaves it open.
func Adapt(zc *zk.Conn, cfg Config) *Conn {
	c := newConn(cfg)
	c.foreign, c.limit = true, serverLimit
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
			if c.rests(zc) && c.asking.CompareAndSwap(false, true) {
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

// poll compares what the client says with what is known. The session is asked
// for on both sides of the state: while they differ it is changing.
func (c *Conn) poll(zc *zk.Conn) {
	c.polling.Lock()
	defer c.polling.Unlock()
	session := zc.SessionID()
	up := zc.State() == zk.StateHasSession && session != 0 && zc.SessionID() == session
	server := zc.Server()
	c.mu.Lock()
	st, l := c.state, c.link
	c.mu.Unlock()
	switch {
	case up && (!st.Up || st.Session != session):
		if st.Session != 0 && st.Session != session {
			c.expired(l)
		}
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

// rests reports whether the client has been found, twice in a row, with no
// connection and without a try to get one: an open one leaves that state at once
// (conn.go:494, 367-372), a closed one never.
func (c *Conn) rests(zc *zk.Conn) bool {
	c.polling.Lock()
	defer c.polling.Unlock()
	if c.away++; zc.State() != zk.StateDisconnected {
		c.away = 0
	}
	return c.away > 1
}

// askClosed finds out whether the program has closed the client, which that does
// not tell: a request then fails at once (conn.go:905-922), where otherwise it waits
// for a connection. It is asked twice, for an open client may have come to a
// connection and lost it meanwhile.
func (c *Conn) askClosed(zc *zk.Conn) {
	defer c.asking.Store(false)
	for range 2 {
		_, _, err := zc.Exists("/")
		if !errors.Is(err, zk.ErrConnectionClosed) || zc.State() != zk.StateDisconnected {
			return
		}
	}
	c.poll(zc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && !c.ended {
		c.ended = true
		c.announceLocked()
	}
}
