package conn

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// keepData bounds the data that a watch keeps of its node.
const keepData = 4 << 10

// Watch is a get-watch on one node, or a watch on its children. All callers that ask
// for it on one connection share it: the client can't remove a watch, so each
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

// Spend ends a watch whose event is certain to come because of a write of this
// session. Otherwise a caller could share the watch, although it will report nothing
// after that event.
func (c *Conn) Spend(w *Watch) { c.watches.end(w, zk.EventNodeDataChanged) }

// After runs f in a goroutine of its own once w is over.
func (c *Conn) After(w *Watch, f func()) { c.watches.after(w, f) }

// Watch returns the watch on path. It makes no request if that is set already. It
// fails with zk.ErrNoNode if there is no such node, and then leaves no watch. (An
// exists-watch on a node that is gone would stay for ever, here and on the server.)
func (c *Conn) Watch(path string) (*Watch, error) {
	return c.watch(watchKey{path: path})
}

// WatchChildren does the same as Watch for the names below path. The client may lose its event
// over a reconnect (conn.go:614), but here the watch ends with the connection.
func (c *Conn) WatchChildren(path string) (*Watch, error) {
	return c.watch(watchKey{path: path, children: true})
}

func (c *Conn) watch(key watchKey) (*Watch, error) {
	w, isNew, hasChannel := c.watches.get(key)
	if isNew {
		c.arm(w, hasChannel)
	}
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

// arm makes the request of a new watch, which only reads the node if the client has
// a channel for it.
func (c *Conn) arm(w *Watch, hasChannel bool) {
	var events <-chan zk.Event
	ran, err := c.do(false, sizeRead(w.Path), func(zc *zk.Conn) (err error) {
		events, err = w.read(zc, !hasChannel)
		return err
	})
	// The client sets the watches of a lost connection again by itself, but when it
	// does so is not known here. So a watch counts only if it was requested and
	// answered on one connection.
	valid := err == nil && ran.Before.Epoch == ran.After.Epoch && ran.After.Up
	c.watches.answered(w, ran.After.Epoch, err, valid)
	if c.foreign != nil {
		c.foreign.feed.follow(w, hasChannel, events)
	}
	close(w.armed)
}

// read reads what is watched, and sets a watch on it if set is true.
func (w *Watch) read(zc *zk.Conn, set bool) (<-chan zk.Event, error) {
	if w.key.children {
		names, stat, events, err := childrenOf(zc, w.Path, set)
		if err != nil {
			return nil, err
		}
		w.Names, w.Stat = names, *stat
		return events, nil
	}
	data, stat, events, err := dataOf(zc, w.Path, set)
	if err != nil {
		return nil, err
	}
	w.Data, w.Stat = append([]byte(nil), data[:min(len(data), keepData)]...), *stat
	return events, nil
}

// dataOf reads a node, and sets a watch on it if watch is true.
func dataOf(zc *zk.Conn, path string, watch bool) (data []byte, stat *zk.Stat, events <-chan zk.Event, err error) {
	if watch {
		return zc.GetW(path)
	}
	data, stat, err = zc.Get(path)
	return data, stat, nil, err
}

// childrenOf reads the names below a node, and sets a watch on them if watch is true.
func childrenOf(zc *zk.Conn, path string, watch bool) (names []string, stat *zk.Stat, events <-chan zk.Event, err error) {
	if watch {
		return zc.ChildrenW(path)
	}
	names, stat, err = zc.Children(path)
	return names, stat, nil, err
}
