package zksync

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Hold is a handle on a lock that is held. It knows the fence, the node, and
// whether the lock is lost. It ends with Release, or with the loss of the lock.
//
// A Locker's Hold and TryHold return a Hold, and Do passes one to its function: the
// zero value is not usable. It must not be copied. Its methods may be called by
// several goroutines, and after its end.
type Hold struct {
	t       *tenure
	node    string
	fence   int64
	session int64
	revoked chan struct{}

	first    atomic.Bool   // Release was called
	released chan struct{} // closed when the first has its result
	result   error         // of Release; before released is closed

	// Guarded by lock.mu.
	ended error                      // nil while held
	ends  map[<-chan struct{}]*ender // of the contexts, by their parents' Done channels
	asked bool                       // revoked is closed
}

// openLocked adds a handle to the tenure. From the first handle on, the session
// proves to the quorum that it lives, and the node is watched, so that a loss is
// noticed. The node serves nobody else any more: two holders on one node would
// have the same fence, and the resource could not refuse the first one's late
// write.
func (t *tenure) openLocked() *Hold {
	h := &Hold{t: t, node: t.e.Node(), fence: t.e.Fence(), session: t.e.Session(),
		revoked: make(chan struct{}), released: make(chan struct{}), ends: make(map[<-chan struct{}]*ender)}
	if t.holds == nil {
		t.holds = make(map[*Hold]struct{})
	}
	t.holds[h] = struct{}{}
	t.exposed = true
	if t.revoked {
		h.askBack()
	}
	if t.guard == nil {
		nodes := t.e.Nodes()
		t.guard = t.l.s.conn.Guard(nodes, h.session, t.end)
		if t.looked == nil {
			t.looked = make([]bool, len(nodes))
		}
		for i, node := range nodes {
			if !t.looked[i] { // else who looks since an earlier handle goes on
				t.looked[i] = true
				go t.look(i, node)
			}
		}
	}
	return h
}

// look keeps a watch on the node with index i while there are handles: after each
// event and each reconnect it is set again, by a read that shows what has changed.
// One at a time does so for a node, since a watch can't be taken back: it stays,
// and is followed, between one handle and the next. It is not counted in: a watch
// may be over only after the tenure, which is.
func (t *tenure) look(i int, node string) {
	c := t.l.s.conn
	for {
		_, changed := c.State()
		if _, err := c.Await(context.Background()); err != nil {
			return // closed for good
		}
		t.l.mu.Lock()
		done := t.over || t.lost != nil || len(t.holds) == 0
		t.looked[i] = !done
		t.l.mu.Unlock()
		if done {
			return
		}
		w, err := c.Watch(node)
		switch {
		case err == nil:
			if znode.IsRevoke(w.Data) {
				t.askBack()
			}
			c.After(w, func() {
				if _, deleted := w.Over(); deleted {
					t.lose(conn.ErrNodeGone)
				}
				t.look(i, node)
			})
			return
		case errors.Is(err, zk.ErrNoNode):
			t.lose(conn.ErrNodeGone)
			return
		case conn.Classify(err) == conn.Answered:
			t.l.mu.Lock()
			t.looked[i] = false
			t.l.mu.Unlock()
			return // not readable: the probes are left
		}
		select { // an error, and still connected
		case <-time.After(5 * time.Millisecond):
		case <-changed: // or no more, or closed
		}
	}
}

// askBack tells the holders that the lock is asked back.
func (t *tenure) askBack() {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.revoked = true // for those who enter later, too
	for h := range t.holds {
		h.askBack()
	}
}

// askBack is called with lock.mu held.
func (h *Hold) askBack() {
	if !h.asked {
		h.asked = true
		close(h.revoked)
	}
}

// endLocked ends the handle; the contexts end when what it returns is run.
func (h *Hold) endLocked(cause error) after {
	if h.ended != nil {
		return nil
	}
	h.ended = cause
	ends := h.ends
	h.ends = nil
	for _, e := range ends {
		if e.stop != nil {
			e.stop() // there is nothing left to take it out of
		}
	}
	return func() {
		for _, e := range ends {
			e.cancel(cause)
		}
	}
}

// Err returns nil while the lock is held, which it checks against the clock at each
// call. Once the lock is lost it returns an error that Is ErrLost and says why.
// After Release it returns context.Canceled.
func (h *Hold) Err() error {
	l := h.t.l
	l.mu.Lock()
	err := h.ended
	l.mu.Unlock()
	if err != nil || l.s.conn.Alive(h.session) {
		return err
	}
	h.t.lose(h.t.silence())
	l.mu.Lock()
	defer l.mu.Unlock()
	return h.ended
}

// silence returns why the session no longer counts as alive.
func (t *tenure) silence() error {
	if st, _ := t.l.s.conn.State(); st.Session != t.e.Session() {
		return conn.ErrSessionOver
	}
	return conn.ErrNoContact
}

// Fence returns the hold's fencing token: the zxid of the ZooKeeper transaction
// that put its node in line. It grows from each hold of a path to the next, across
// processes, restarts, and the deletion of the path. It starts again only if the
// ensemble is rebuilt with empty data directories. Send it with every write, and let
// the receiver refuse a fence smaller than the largest it has seen.
func (h *Hold) Fence() int64 { return h.fence }

// Node returns the full path of the hold's node in ZooKeeper.
func (h *Hold) Node() string { return h.node }

// Revoked returns a channel that is closed when somebody asks for the lock: with
// Session.Revoke, or by writing "__REVOKE__" (Curator's word) or "unlock" to its
// node. If an owner enters the lock again after the request, the channel of the new
// Hold is closed from the beginning if an earlier Hold of the owner knew of the
// request. Otherwise it is closed soon, after a read of the node: nobody reads the
// node while there is no Hold. The lock stays held: the holder has to comply.
func (h *Hold) Revoked() <-chan struct{} { return h.revoked }

// Release releases the lock, and ends the contexts. Only the first call does so.
// Later calls wait for its result and return the same one; if their own ctx ends
// first, the error is an *Error that Is ctx.Err(), and the first call goes on.
//
// If Release returns nil, the node is gone, and existed until now. Of the levels of
// one owner, only the last one deletes the node. Otherwise the error is an *Error.
// It Is ErrLost if the lock had been lost before. It Is ctx.Err() if ctx ended before
// the deletion was confirmed; the deletion then goes on in the background.
func (h *Hold) Release(ctx context.Context) error {
	if h.first.CompareAndSwap(false, true) {
		defer close(h.released) // also when the tracer panics
		h.result = h.failed(h.release(ctx))
		return h.result
	}
	select {
	case <-h.released:
		return h.result // also if ctx has ended
	default:
	}
	select {
	case <-h.released:
		return h.result
	case <-ctx.Done():
		return h.failed(ctxErr(ctx))
	}
}

// failed is what Release returns for err.
func (h *Hold) failed(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: "release", Path: h.t.acq.Path, Node: h.node, Err: err}
}

func (h *Hold) release(ctx context.Context) error {
	if h.Err() != nil { // the clock is asked, too
		return h.Err()
	}
	t, l := h.t, h.t.l
	l.mu.Lock()
	if h.ended != nil {
		defer l.mu.Unlock()
		return h.ended
	}
	then := h.endLocked(context.Canceled)
	delete(t.holds, h)
	var unguard after
	var quit vacated
	var rel *release
	switch {
	case len(t.holds) == 0 && t.plain == 0:
		rel, quit = t.vacateLocked(false)
	case len(t.holds) == 0:
		unguard = t.unguardLocked()
	}
	l.mu.Unlock()
	then.run()
	unguard.run()
	quit.run()
	return rel.wait(ctx, l.s)
}

// wait waits for a deletion until ctx ends, and says what it means.
func (r *release) wait(ctx context.Context, s *Session) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return ctxErr(ctx)
	case <-s.life.Done():
		select {
		case <-r.done:
		default:
			return ErrClosed // Close has ended, and named the node
		}
	}
	err := s.verdict(r.err)
	if errors.Is(err, ErrLost) && !errors.Is(r.err, ErrLost) { // else it is counted
		s.stats.losses.Add(1)
	}
	return err
}

// verdict is what the end of a deletion says of the lock.
func (s *Session) verdict(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrLost):
		return err
	case errors.Is(err, conn.ErrNodeGone), errors.Is(err, conn.ErrSessionOver):
		return lost(err)
	}
	return s.mapErr(context.Background(), err)
}
