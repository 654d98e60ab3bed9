package conn

import (
	"math/rand/v2"
	"time"
)

// shorter returns the smaller of the requested and the granted session timeout.
// It bounds all that has to end before a session is over.
func (c *Conn) shorter() time.Duration {
	if granted := time.Duration(c.granted.Load()); granted > 0 {
		return min(granted, c.cfg.Timeout)
	}
	return c.cfg.Timeout
}

// pauseLocked returns how long to wait before the next dial: no time until every
// server was tried once, then 20 ms, doubled in each round, up to T/6 or a second.
func (l *link) pauseLocked() time.Duration {
	round := l.fails / len(l.addrs)
	if round == 0 {
		return 0
	}
	most := min(time.Second, l.c.shorter()/6)
	d := min(most, 20*time.Millisecond<<min(round-1, 10))
	return d/2 + rand.N(d/2+1)
}

// slowest bounds a dial, and then a handshake, whatever the session timeout is. A
// server that needs more is of no use, and another one may be faster.
const slowest = 5 * time.Second

// longestTry is the longest time that a dial, and then a handshake, may take if the
// session timeout is t.
func longestTry(t time.Duration) time.Duration { return min(max(t, time.Second), slowest) }

// limitLocked returns how long the next dial, and then the handshake, may take. It
// starts low: a server that does not answer should cost a hold little of its T/2, and
// a first dial little of its ctx. It grows with each round, so that a slow server is
// reached in the end.
func (l *link) limitLocked() time.Duration {
	t := l.c.shorter()
	round := min(l.fails/len(l.addrs), 10)
	if l.last.session == 0 {
		first := min(max(t/3, time.Second), slowest/2)
		return min(first<<round, longestTry(t))
	}
	return min(max(t/12, 100*time.Millisecond)<<round, max(t/3, time.Second), slowest)
}

// watchdog replaces a client that has locked up: it has had no session, and has not
// tried to get one, for longer than a pause, a dial and a handshake take. First the
// client's session is declared over, so that the holders of locks learn of it. Then
// the client is closed, and its dialer refuses from then on. Otherwise the client
// could recover and carry out the creates that it has queued.
func (c *Conn) watchdog() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.life.Done():
			return
		case <-timer.C:
		}
		t := c.shorter()
		patience := 2 * (longestTry(t) + time.Second)
		timer.Reset(min(t/2, patience/4))
		c.mu.Lock()
		l, up := c.link, c.state.Up
		c.mu.Unlock()
		if up || l.idle() < patience {
			continue
		}
		c.cfg.Logger.Error("zksync: the ZooKeeper client has locked up and is replaced", "idle", l.idle())
		c.expired(l)
		if _, err := c.newLink(); err != nil {
			c.cfg.Logger.Error("zksync: no new ZooKeeper client", "error", err)
			continue
		}
		l.kill()
		c.wg.Go(l.zc.Close)
	}
}
