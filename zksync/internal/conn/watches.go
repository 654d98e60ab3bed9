package conn

import (
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// watchKey identifies a Watch: a connection has at most one for each key.
type watchKey struct {
	path     string
	children bool // of the names below the path
	creation bool // of a node that does not exist
}

// endedBy reports whether an event on the path ends the watch.
func (k watchKey) endedBy(event zk.EventType) bool {
	switch {
	case k.children:
		return event == zk.EventNodeDeleted || event == zk.EventNodeChildrenChanged
	case k.creation && event == zk.EventNodeCreated:
		return true
	}
	return event == zk.EventNodeDeleted || event == zk.EventNodeDataChanged
}

// twin returns the key whose watch is the same one for the server, which knows one watch
// on a node for each connection, whether the node exists or not.
func (k watchKey) twin() watchKey { k.creation = !k.creation; return k }

// watches is the table of the watches that are set or being set. It knows no client
// and makes no requests. Its mutex may be taken while Conn.mu is held, and is never
// held when Conn.mu is taken.
type watches struct {
	mu     sync.Mutex
	byKey  map[watchKey]*Watch
	closed bool

	// channels has the keys for which a program's client keeps a channel, whose next
	// event ends the watch that has the key by then. See feed.
	channels map[watchKey]struct{}
}

func newWatches() *watches {
	return &watches{byKey: make(map[watchKey]*Watch), channels: make(map[watchKey]struct{})}
}

// get returns the watch that has the key. If there is none, it adds one. Then isNew is
// true, and the caller has to make the request, call answered and close armed.
// hasChannel reports that an older channel serves the new watch. The watch is in the
// table before its request, as its event may come before the answer.
func (t *watches) get(key watchKey) (w *Watch, isNew, hasChannel bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.byKey[key]; w != nil {
		if w.users++; w.idle != nil {
			w.idle.Stop()
		}
		return w, false, false
	}
	w = &Watch{Path: key.path, Since: time.Now(), key: key, users: 1, armed: make(chan struct{}), done: make(chan struct{})}
	t.byKey[key] = w
	_, hasChannel = t.channels[key]
	return w, true, hasChannel
}

// answered records the answer to the request of a new watch, which ends the watch
// unless it is valid.
func (t *watches) answered(w *Watch, epoch uint64, err error, valid bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.Epoch, w.err = epoch, err
	if !valid {
		t.endLocked(w, 0)
	}
}

// notify ends the watches that an event on path is for. It has to be called in the
// order of the events.
func (t *watches) notify(path string, event zk.EventType) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range [...]watchKey{{path: path}, {path: path, children: true}, {path: path, creation: true}} {
		if w := t.byKey[key]; w != nil && key.endedBy(event) {
			t.endLocked(w, event)
		}
	}
}

// end ends a watch; event 0 is the loss of the connection.
func (t *watches) end(w *Watch, event zk.EventType) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked(w, event)
}

// drop ends all watches, as their connection is lost.
func (t *watches) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropLocked()
}

// close is drop, and refuses further channels.
func (t *watches) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.dropLocked()
}

// len returns the number of watches in the table.
func (t *watches) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byKey)
}

func (t *watches) dropLocked() {
	for _, w := range t.byKey {
		t.endLocked(w, 0)
	}
}

func (t *watches) endLocked(w *Watch, event zk.EventType) {
	if t.byKey[w.key] == w {
		delete(t.byKey, w.key)
	}
	if isOver, _ := w.Over(); isOver {
		return
	}
	w.event = event
	close(w.done)
	for _, timer := range []*time.Timer{w.look, w.idle} {
		if timer != nil {
			timer.Stop()
		}
	}
	for _, f := range w.after {
		go f()
	}
	w.after = nil
}

// leave ends one use of a watch. If it was the last one, then is called after d, unless
// the watch is over or is used again by then.
func (t *watches) leave(w *Watch, d time.Duration, then func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.users--
	isOver, _ := w.Over()
	switch {
	case isOver || w.users > 0:
	case w.idle == nil:
		w.idle = time.AfterFunc(d, then)
	default:
		w.idle.Reset(d)
	}
}

// remove ends a watch that nobody uses, if send sends the request that removes it. send is
// called under the mutex, so that the request to set the watch again comes after that. It is
// not called if the request would remove another watch of the table, too.
func (t *watches) remove(w *Watch, send func(*Watch) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, shared := t.byKey[w.key.twin()]
	if isOver, _ := w.Over(); !isOver && w.users == 0 && (shared || send(w)) {
		t.endLocked(w, 0)
	}
}

// after runs f in a goroutine of its own once w is over.
func (t *watches) after(w *Watch, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isOver, _ := w.Over(); isOver {
		go f()
		return
	}
	w.after = append(w.after, f)
}

// schedule runs look after d, unless the watch is over by then.
func (t *watches) schedule(w *Watch, d time.Duration, look func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isOver, _ := w.Over(); !isOver {
		w.look = time.AfterFunc(d, look)
	}
}

// reschedule runs the look that was scheduled again after d, unless the watch is over
// by then.
func (t *watches) reschedule(w *Watch, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isOver, _ := w.Over(); !isOver {
		w.look.Reset(d)
	}
}

// addChannel notes that the client keeps a channel for the key, and calls start. It
// does nothing if there is one already, or after close. start is called under the
// mutex, so that no goroutine starts after close.
func (t *watches) addChannel(key watchKey, start func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.channels[key]; is || t.closed {
		return
	}
	t.channels[key] = struct{}{}
	start()
}

// channelFired notes that the channel of a key has brought its event, and ends the
// watch that has the key now. Both happen at once: a watch added in between would
// rely on a channel that brings nothing more.
func (t *watches) channelFired(key watchKey, event zk.EventType) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.channels, key)
	if w := t.byKey[key]; w != nil {
		t.endLocked(w, event)
	}
}
