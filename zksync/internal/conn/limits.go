package conn

import (
	"math/rand/v2"
	"time"
)

// shorter is the session timeout that everything follows which has to be done
// with before a session is over: the smaller of what was asked for and what the
// servers have granted.
func (c *Conn) shorter() time.Duration {
	if granted := time.Duration(c.granted.Load()); granted > 0 {
		return min(granted, c.cfg.Timeout)
	}
	return c.cfg.Timeout
}

// pauseLocked is the back-off before the next try: none until every server was
// tried once, then 20 ms, doubling, up to a sixth of T or a second.
func (l *link) pauseLocked() time.Duration {
	round := l.fails / len(l.addrs)
	if round == 0 {
		return 0
	}
	most := min(time.Second, l.c.shorter()/6)
	d := min(most, 20*time.Millisecond<<min(round-1, 10))
	return d/2 + rand.N(d/2+1)
}

// slowest bounds a dial, and then a handshake, whatever the session timeout is: a
// server that takes no less for them is none, and others may be waiting.
const slowest = 5 * time.Second

// longestTry is the longest that a dial, and then a handshake, may take where the
// session timeout is t.
func longestTry(t time.Duration) time.Duration { return min(max(t, time.Second), slowest) }

// limitLocked bounds a dial, and then the handshake. It starts low, so that a
// silent server costs a hold little of its T/2 and a first dial little of its ctx;
// it grows with each round, so that a slow server is reached in the end.
func (l *link) limitLocked() time.Duration {
	t := l.c.shorter()
	round := min(l.fails/len(l.addrs), 10)
	if l.last.session == 0 {
		first := min(max(t/3, time.Second), slowest/2)
		return min(first<<round, longestTry(t))
	}
	return min(max(t/12, 100*time.Millisecond)<<round, max(t/3, time.Second), slowest)
}

// watchdog replaces a client that has locked up: it has had no session, and has
// not tried to get one, for longer than a pause, a dial and a handshake take. First
// the client's session counts as over, so that whoever holds a lock is told. Then
// the client is closed, and its dialer refuses for good: it could come back to life
// and carry out the creates that it has queued.
func (c *Conn) watchdog() {
	defer c.wg.Done()
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
