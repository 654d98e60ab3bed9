package conn

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// Adapt uses a client that the program has. timeout is what the ensemble
// granted its session: the client does not tell. Its state is polled, since
// its event channel has one reader and drops what is not read (G16); Close
// leaves it open.
func Adapt(zc *zk.Conn, cfg Config) *Conn {
	c := newConn(cfg)
	c.foreign = true
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
