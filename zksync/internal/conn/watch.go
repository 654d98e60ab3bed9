package conn

import (
	"bytes"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// keepData bounds the data that a watch keeps of its node.
const keepData = 4 << 10

// Watch is a get-watch on one node, a watch on its children, or a watch on a node that does
// not exist yet. All callers that ask
// for it on one connection share it: a program's client can't remove a watch, so each
// further one would stay until the node changes (conn.go:883-891). A Watch is over
// at the first event on its node, or when the TCP connection ends on which it was
// set, whichever comes first.
type Watch struct {
	Path  string
	Epoch uint64    // of the connection on which it was set
	Since time.Time // when it was requested
	Data  []byte    // the node's data when it was set, at most 4 KiB of it
	Names []string  // of the children when it was set, if it watches these
	Stat  zk.Stat   // of the node when it was set

	key   watchKey
	armed chan struct{} // closed when the server has answered
	err   error         // the server's answer; written before armed is closed
	done  chan struct{} // closed when the watch is over
	event zk.EventType  // what ended it, 0: the connection; written before done is closed

	// Guarded by watches.mu.
	users int         // that have not left
	idle  *time.Timer // removes it from the server; nil: it was used all the time
	after []func()    // run when it is over
	look  *time.Timer // the next read of the node, if an event may get lost; see feed
}

// Done is closed when the watch is over.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Over reports whether the watch is over, and whether that was because its node was
// deleted.
func (w *Watch) Over() (over, deleted bool) {
	select {
	case <-w.done:
		return true, w.event == zk.EventNodeDeleted
	default:
		return false, false
	}
}

// Changed reports whether the watch is over because its node's data changed.
func (w *Watch) Changed() bool {
	isOver, _ := w.Over()
	return isOver && w.event == zk.EventNodeDataChanged
}

// Leave ends one use of a watch: the caller, who got it from Watch or WatchChildren,
// does not wait for its event any more. A watch that nobody has used for T is removed
// from the server. A nil watch is ignored.
func (c *Conn) Leave(w *Watch) {
	if w != nil && c.foreign == nil {
		c.watches.leave(w, c.Timeout(), func() { c.watches.remove(w, c.unwatch) })
	}
}

// unwatch sends the request that removes a watch, and reports whether it did. What is sent
// after that comes after it, also the request that sets the same watch again.
func (c *Conn) unwatch(w *Watch) bool {
	p := c.pipe.Load()
	if p == nil || p.state.Epoch != w.Epoch || c.keepsWatches.Load() || !c.slots.TryAcquire(1) {
		return false
	}
	u := &unwatching{c: c, call: call{rq: w.key.removal()}}
	u.owner = u
	if !p.enqueueUnwatch(&u.call) {
		c.slots.Release(1)
		return false
	}
	go p.flush() // not under the mutex of the watches
	return true
}

// unwatching is the call that removes a watch. Nobody waits for it.
type unwatching struct {
	call
	c *Conn
}

func (u *unwatching) finished() {
	u.c.slots.Release(1)
	if Unimplemented(u.err) {
		u.c.keepsWatches.Store(true)
	}
}

// Spend ends a watch whose event is certain to come because of a write of this
// session. Otherwise a caller could share the watch, although it will report nothing
// after that event.
func (c *Conn) Spend(w *Watch) { c.watches.end(w, zk.EventNodeDataChanged) }

// After runs f in a goroutine of its own once w is over.
func (c *Conn) After(w *Watch, f func()) { c.watches.after(w, f) }

// Watch returns the watch on path. It makes no request if that is set already. It
// fails with zk.ErrNoNode if there is no such node, and then leaves no watch.
func (c *Conn) Watch(path string) (*Watch, error) {
	return c.sharedWatch(watchKey{path: path})
}

// WatchChildren does the same as Watch for the names below path. The client may lose its event
// over a reconnect (conn.go:614), but here the watch ends with the connection.
func (c *Conn) WatchChildren(path string) (*Watch, error) {
	return c.sharedWatch(watchKey{path: path, children: true})
}

// WatchCreation returns a watch on a node that does not exist. It is over once the node is
// created. If the node exists, the Stat of the watch is that of the node; otherwise the
// Stat is zero. The watch is for a wait without an end: nobody else should leave a watch
// on a node that is gone, which would stay for ever if a program's client has set it.
func (c *Conn) WatchCreation(path string) (*Watch, error) {
	return c.sharedWatch(watchKey{path: path, creation: true})
}

// sharedWatch returns the watch that has the key, once its request has been answered.
func (c *Conn) sharedWatch(key watchKey) (*Watch, error) {
	w, isNew, hasChannel := c.watches.get(key)
	if isNew {
		c.arm(w, hasChannel)
	}
	return c.armedWatch(w)
}

// armedWatch waits for the answer to the request of a watch.
func (c *Conn) armedWatch(w *Watch) (*Watch, error) {
	select {
	case <-w.armed:
	case <-c.life.Done():
		return nil, ErrClosed
	}
	if w.err != nil {
		return nil, w.err
	}
	return w, nil
}

// request returns the request that sets the watch, or that only reads the node if set is
// false.
func (k watchKey) request(set bool) request {
	op := wire.OpGetData
	switch {
	case k.children:
		op = wire.OpGetChildren2
	case k.creation:
		op = wire.OpExists
	}
	return request{op: op, path: k.path, watch: set}
}

// removal returns the request that removes the watch from the server.
func (k watchKey) removal() request {
	rq := request{op: wire.OpRemoveWatches, path: k.path, flags: removeData}
	if k.children {
		rq.flags = removeChildren
	}
	return rq
}

// The kinds of watches in a request that removes some.
const (
	removeChildren = 1
	removeData     = 2
)

// arm makes the request of a new watch, which only reads the node if a program's client
// has a channel for it.
func (c *Conn) arm(w *Watch, hasChannel bool) {
	a, ran, err := c.do(w.key.request(!hasChannel))
	if w.key.creation && errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	c.armed(w, &a, ran, err)
	if c.foreign != nil {
		c.foreign.feed.follow(w, hasChannel, a.events)
	}
	close(w.armed)
}

// armed records the answer to the request of a new watch.
func (c *Conn) armed(w *Watch, a *answer, ran Ran, err error) {
	if err == nil {
		w.Names, w.Stat = a.names, a.stat
		w.Data = bytes.Clone(a.data[:min(len(a.data), keepData)])
	}
	// A program's client sets the watches of a lost connection again by itself, but
	// when it does so is not known here. So a watch counts only if it was requested and
	// answered on one connection.
	valid := err == nil && ran.Before.Epoch == ran.After.Epoch && ran.After.Up
	c.watches.answered(w, ran.After.Epoch, err, valid)
}
