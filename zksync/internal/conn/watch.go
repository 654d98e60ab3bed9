package conn

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// keepData bounds the data that a watch keeps of its node.
const keepData = 4 << 10

// watchKey is what there is one watch for at a time.
type watchKey struct {
	path     string
	children bool
}

// Watch is a get-watch on one node, or a watch on its children. All who ask for
// it on this connection share it: the client can't remove a watch, so each further
// one would stay until the node changes (conn.go:883-891). A Watch is over at the
// first event on its node, or with the TCP connection it was set on, whichever
// comes first.
type Watch struct {
	Path  string
	Epoch uint64    // of the connection that answered it
	Since time.Time // it was asked for
	Data  []byte    // the node's data when it was set, at most 4 KiB of it
	Names []string  // of the children, if it is a watch on these
	Stat  zk.Stat   // of the node when it was set

	key   watchKey
	armed chan struct{} // closed when the server has answered
	err   error         // its answer; written before armed is closed
	done  chan struct{}
	once  sync.Once
	event zk.EventType // what ended it, 0: the connection; before done is closed
	after []func()     // guarded by Conn.mu
	look  *time.Timer  // guarded by Conn.mu; the next look at the node, if nobody else may tell
}

// Done is closed when the watch is over.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Over reports whether the watch is over, and whether that was because its
// node was deleted.
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
	over, _ := w.Over()
	return over && w.event == zk.EventNodeDataChanged
}

// Spend ends a watch whose event is on its way, because of a write of ours, so that
// nobody takes it for one that would tell of anything more.
func (c *Conn) Spend(w *Watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(w, zk.EventNodeDataChanged)
}

// Watch returns the watch on path, which costs no request if one is set already.
// zk.ErrNoNode: there is no such node, and no watch is left. (An exists-watch on a
// node that is gone would stay for ever, here and on the server.)
func (c *Conn) Watch(path string) (*Watch, error) {
	return c.watch(watchKey{path: path})
}

// WatchChildren is Watch for the names below path. Over a reconnect the client may
// lose its event (conn.go:614); here the watch ends with the connection anyway.
func (c *Conn) WatchChildren(path string) (*Watch, error) {
	return c.watch(watchKey{path: path, children: true})
}

func (c *Conn) watch(key watchKey) (*Watch, error) {
	c.mu.Lock()
	w := c.watches[key]
	if w == nil {
		w = &Watch{Path: key.path, Since: time.Now(), key: key, armed: make(chan struct{}), done: make(chan struct{})}
		c.watches[key] = w // before the request: its event may overtake us
		_, fed := c.fed[key]
		c.mu.Unlock()
		c.arm(w, fed)
	} else {
		c.mu.Unlock()
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

func (c *Conn) arm(w *Watch, fed bool) {
	var events <-chan zk.Event
	ran, err := c.do(false, sizeRead(w.Path), func(zc *zk.Conn) error {
		if w.key.children {
			names, stat, ch, err := childrenOf(zc, w.Path, !fed)
			if err == nil {
				events, w.Names, w.Stat = ch, names, *stat
			}
			return err
		}
		data, stat, ch, err := dataOf(zc, w.Path, !fed)
		if err != nil {
			return err
		}
		events = ch
		w.Data, w.Stat = append([]byte(nil), data[:min(len(data), keepData)]...), *stat
		return nil
	})
	c.mu.Lock()
	w.err, w.Epoch = err, ran.After.Epoch
	// The client sets a lost connection's watches again by itself, but when it
	// does is not known here: only a watch that was asked for and answered on
	// one connection counts.
	if err != nil || ran.Before.Epoch != ran.After.Epoch || !ran.After.Up {
		c.endLocked(w, 0)
	}
	if c.foreign {
		c.followLocked(w, fed, events)
	}
	c.mu.Unlock()
	close(w.armed)
}

// dataOf reads a node, and sets a watch if asked to.
func dataOf(zc *zk.Conn, path string, watch bool) (data []byte, stat *zk.Stat, ch <-chan zk.Event, err error) {
	if watch {
		return zc.GetW(path)
	}
	data, stat, err = zc.Get(path)
	return data, stat, nil, err
}

// childrenOf is dataOf for the names below a node.
func childrenOf(zc *zk.Conn, path string, watch bool) (names []string, stat *zk.Stat, ch <-chan zk.Event, err error) {
	if watch {
		return zc.ChildrenW(path)
	}
	names, stat, err = zc.Children(path)
	return names, stat, nil, err
}

// fire ends the watches on path that the event is for. The client calls it for
// each event, in the order in which they came.
func (c *Conn) fire(path string, event zk.EventType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	deleted := event == zk.EventNodeDeleted
	if w := c.watches[watchKey{path: path}]; w != nil && (deleted || event == zk.EventNodeDataChanged) {
		c.endLocked(w, event)
	}
	if w := c.watches[watchKey{path, true}]; w != nil && (deleted || event == zk.EventNodeChildrenChanged) {
		c.endLocked(w, event)
	}
}

func (c *Conn) dropWatchesLocked() {
	for _, w := range c.watches {
		c.endLocked(w, 0)
	}
}

func (c *Conn) endLocked(w *Watch, event zk.EventType) {
	if c.watches[w.key] == w {
		delete(c.watches, w.key)
	}
	w.once.Do(func() {
		w.event = event
		close(w.done)
		if w.look != nil {
			w.look.Stop()
		}
		for _, f := range w.after {
			go f()
		}
		w.after = nil
	})
}

// After runs f in a goroutine of its own once w is over.
func (c *Conn) After(w *Watch, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if over, _ := w.Over(); over {
		go f()
		return
	}
	w.after = append(w.after, f)
}
