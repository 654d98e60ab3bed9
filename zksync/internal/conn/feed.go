package conn

import (
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// A client of the program's has no ordered feed of events, only a channel for each
// time that a watch is asked for. It keeps them all until an event comes, and sets the
// watch again on each new connection (conn.go:577-656, 883-891). So there is one
// channel for each path, for as long as no event comes: after a reconnect the node is
// only read, and the channel that there is serves the new Watch.

// followLocked has the events of a watch on a foreign client brought to it: by the
// channel that was got with it, or, if fed, by the one that there was.
func (c *Conn) followLocked(w *Watch, fed bool, events <-chan zk.Event) {
	over, _ := w.Over()
	switch {
	case c.closed:
	case fed && w.err == nil && !over:
		w.look = time.AfterFunc(c.timeout/6, func() { c.lookAgain(w) })
	case events != nil:
		if _, is := c.fed[w.key]; !is { // else that channel's goroutine does
			c.fed[w.key] = struct{}{}
			c.wg.Add(1)
			go c.forward(w.key, events)
		}
	}
}

// forward brings the event of a channel to the watch that there is by then.
func (c *Conn) forward(key watchKey, events <-chan zk.Event) {
	defer c.wg.Done()
	select {
	case ev := <-events:
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.fed, key)
		if ev.Type == zk.EventNotWatching {
			ev.Type = 0
		}
		if w := c.watches[key]; w != nil {
			c.endLocked(w, ev.Type)
		}
	case <-c.life.Done():
	}
}

// lookAgain reads the node of a watch that the client was to set again, once it has
// had the time to: a change between the first read and then may be told to nobody,
// since the client asks for what came after its last answer (conn.go:614). It may
// have failed to set it, too, and keeps the connection nevertheless (conn.go:636-642):
// so the node is read each T for as long as the watch serves. No goroutine waits
// meanwhile, and the end of the watch stops it.
func (c *Conn) lookAgain(w *Watch) {
	event := zk.EventType(0)
	stat, _, err := c.Stat(w.Path)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, zk.ErrNoNode):
		event = zk.EventNodeDeleted
	case err == nil && w.key.children && stat.Pzxid != w.Stat.Pzxid:
		event = zk.EventNodeChildrenChanged
	case err == nil && !w.key.children && stat.Mzxid != w.Stat.Mzxid:
		event = zk.EventNodeDataChanged
	default:
		if over, _ := w.Over(); !over {
			w.look.Reset(c.timeout)
		}
		return
	}
	c.endLocked(w, event)
}
