package local

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Handle shows a holding to the program: its fence, its node, and whether the lock is
// lost. It is filled in when its call is granted.
type Handle struct {
	l       *Lock
	h       *Holder
	nodes   []string
	fence   int64
	session int64
	revoked chan struct{}

	ended error           // guarded by the lock's mutex; nil while held
	asked bool            // guarded by the lock's mutex; revoked is closed
	onEnd func(why error) // guarded by the lock's mutex
}

// lookAfter is how long a holder has its first handle before the node is watched. A
// short hold does without that request. What happened to the node before is seen then.
const lookAfter = 10 * time.Millisecond

// opens adds a handle to a holder. From the first handle on, the session proves to the
// quorum that it lives. Soon the node is watched, too, so that a loss is noticed.
func (l *Lock) opens(h *Holder, c *Handle) {
	e := h.ticket.e
	nodes := e.Nodes()
	*c = Handle{l: l, h: h, nodes: nodes, fence: e.Fence(), session: e.Session(), revoked: make(chan struct{})}
	if h.open == nil {
		h.open = make(map[*Handle]struct{})
	}
	h.open[c] = struct{}{}
	if h.revoked {
		c.askBack()
	}
	if h.guard != nil {
		return
	}
	h.guard = l.t.Conn.Guard(nodes, c.session, func(why error) func() {
		d := l.loses(h, why)
		for _, f := range d.ends {
			f()
		}
		return deferred{rest: d.rest}.run
	})
	if h.looked == nil {
		h.looked = make([]bool, len(nodes))
	}
	h.late = time.AfterFunc(lookAfter, func() { l.lookAll(h, nodes) })
}

// unguard ends what began with the first handle.
func (h *Holder) unguard() {
	if h.guard != nil {
		h.guard.Stop()
		h.guard = nil
	}
	if h.late != nil {
		h.late.Stop()
		h.late = nil
	}
}

// lookAll begins to watch the nodes that nobody watches. look may still run since an
// earlier handle.
func (l *Lock) lookAll(h *Holder, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.late = nil; h.lost != nil || len(h.open) == 0 {
		return
	}
	for i, node := range nodes {
		if !h.looked[i] {
			h.looked[i] = true
			go l.look(h, i, node)
		}
	}
}

// look keeps a watch on the node with index i while there are handles: after each
// event and each reconnect it sets the watch again, by a read that shows what has
// changed. Only one goroutine at a time does so for a node. A watch can't be taken
// back: it stays and is followed between one handle and the next. The goroutine is not
// counted as a user of the lock, because a watch may end only after the holder.
func (l *Lock) look(h *Holder, i int, node string) {
	c := l.t.Conn
	for {
		_, changed := c.State()
		if _, err := c.Await(context.Background()); err != nil {
			return // closed for good
		}
		if !l.looks(h, i) {
			return
		}
		w, err := c.Watch(node)
		switch {
		case err == nil:
			l.watched(h, i, node, w)
			return
		case errors.Is(err, zk.ErrNoNode):
			l.lose(h, conn.ErrNodeGone)
			return
		case conn.Classify(err) == conn.Answered:
			l.mu.Lock()
			h.looked[i] = false
			l.mu.Unlock()
			return // not readable: the probes are left
		}
		select { // an error, and still connected
		case <-time.After(5 * time.Millisecond):
		case <-changed: // no longer connected, or closed
		}
	}
}

// looks records and reports whether the node with index i is still to be watched.
func (l *Lock) looks(h *Holder, i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.looked[i] = h.lost == nil && len(h.open) > 0
	return h.looked[i]
}

// watched acts on what a new watch has read, and has look continue after its event.
func (l *Lock) watched(h *Holder, i int, node string, w *conn.Watch) {
	if znode.IsRevoke(w.Data) {
		l.askBack(h)
	}
	l.t.Conn.After(w, func() {
		if _, deleted := w.Over(); deleted {
			l.lose(h, conn.ErrNodeGone)
		}
		l.look(h, i, node)
	})
}

// askBack records that the lock is asked back, and notifies the handles.
func (l *Lock) askBack(h *Holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.revoked = true // also for handles opened later
	for c := range h.open {
		c.askBack()
	}
}

// askBack closes revoked. It is called with the lock's mutex held.
func (c *Handle) askBack() {
	if !c.asked {
		c.asked = true
		close(c.revoked)
	}
}

// shut ends a handle that is released.
func (l *Lock) shut(c *Handle, why error) {
	c.ended = why
	if c.onEnd != nil {
		l.todo.ends = append(l.todo.ends, func() { c.onEnd(why) })
	}
	delete(c.h.open, c)
	c.h.handles--
}

// OnEnd arranges for f to be called once, with the reason, when the handle ends: at once
// if it has ended already.
func (c *Handle) OnEnd(f func(why error)) {
	c.l.mu.Lock()
	ended := c.ended
	c.onEnd = f
	c.l.mu.Unlock()
	if ended != nil {
		f(ended)
	}
}

// Node returns the full path of the holder's first node.
func (c *Handle) Node() string { return c.nodes[0] }

// Nodes returns the full paths of all of the holder's nodes, one a place, also after its
// end. They must not be changed.
func (c *Handle) Nodes() []string { return c.nodes }

// Fence returns the zxid of the transaction that made the node.
func (c *Handle) Fence() int64 { return c.fence }

// Revoked returns a channel that is closed when the lock is asked back.
func (c *Handle) Revoked() <-chan struct{} { return c.revoked }

// Err returns nil while the lock is held, by the clock at this moment; the loss, see
// Observer.Lost; or context.Canceled after Release.
func (c *Handle) Err() error {
	l := c.l
	l.mu.Lock()
	err := c.ended
	l.mu.Unlock()
	if err != nil || l.t.Conn.Alive(c.session) {
		return err
	}
	l.lose(c.h, l.silence(c.h))
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.ended
}

// Release gives the handle back. If it has ended already, Release returns the error of
// Err.
func (c *Handle) Release() (Back, error) {
	if err := c.Err(); err != nil { // the clock is asked, too
		return Back{}, err
	}
	l := c.l
	l.mu.Lock()
	if c.ended != nil {
		defer l.mu.Unlock()
		return Back{}, c.ended
	}
	l.shut(c, context.Canceled)
	b := l.vacate(c.h, false)
	l.finish()
	return b, nil
}
