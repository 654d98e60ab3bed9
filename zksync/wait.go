package zksync

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// waiter is a call that wants the lock.
type waiter struct {
	acq     Acquire
	kind    znode.Kind
	call    context.Context // the call's own
	ctx     context.Context // AcquireStart's
	hold    bool            // wants a handle: a node of its own
	weight  int64           // of a permit
	limit   int64           // of its semaphore
	strict  bool
	owner   Owner // acq's, or Do's own, which is not published
	noErr   bool  // Lock: can't be refused
	now     bool  // TryLock, TryAcquire: does not wait for a connection
	handoff int   // of the value used
	terms   *terms
	lock    *lock // which the call is counted in at
	start   time.Time
	ahead   *tenure // the local holder that was met
	waits   bool    // in the local line
	granted bool    // and taken
	trace   string  // traceparent of ctx
	asked   bool    // AcquireStart has run
	kept    bool    // no function of the tracer panicked
	end     error   // of the call; errPanic until it has one

	elem  *list.Element // guarded by lock.mu
	told  *Peer         // guarded by lock.mu; the newest word of whom it waits for
	news  chan struct{} // told is new; nil: nobody wants to know
	ready chan struct{}

	// Written before ready is closed.
	ten       *tenure
	handle    *Hold
	err       error
	contended bool
	handed    bool
	place     int
	node      string
}

// shares reports whether the call may share a node with other readers of the
// session: nobody can tell whose it is.
func (w *waiter) shares() bool {
	return w.kind == znode.Read && !w.hold && !w.acq.Try && w.owner.IsZero() && w.handoff > 0
}

// plain reports whether the call's node may come to serve another call.
func (w *waiter) plain() bool { return !w.hold && !w.acq.Try && w.handoff > 0 }

// errOptions: two values for one path that disagree in what shows in ZooKeeper.
var (
	errOptions = errors.New("another value for this path is in use with other options (WithACL, WithKazooQueue, WithForeignPrefix)")
	errKind    = errors.New("another value for this path is in use: a path is a semaphore's or a lock's")
)

// errOffline is what a tracer is told of a TryLock while there is no connection.
var errOffline = fmt.Errorf("not connected: %w", zk.ErrNoServer)

// acquire waits for the lock. On success w.ten is the tenure, and w.handle the
// handle if one was wanted. On failure nothing is left, but what could not be
// deleted yet, for which somebody answers.
//
// From the call of a lock's method down to wait little is kept on the stack, so
// that a call can wait on the 2 KiB which a goroutine begins with: hence the
// functions in between that are not inlined, and all that waiter carries.
func (l *lock) acquire(w *waiter) error {
	for {
		err := l.join(w)
		if w.waits {
			err = l.wait(w)
			l.left(w)
		}
		if err != nil || l.s.conn.Alive(w.ten.e.Session()) {
			return err
		}
		// The process was stopped between the grant and here, for so long that
		// the session may be over. A timer would not have run yet, so the clock
		// is compared here.
		l.undo(w)
	}
}

// join puts the call in the local line, where it waits, or says at once what
// becomes of it.
//
//go:noinline
func (l *lock) join(w *waiter) error {
	if w.call.Err() != nil {
		return ctxErr(w.call) // a done context never acquires
	}
	w.ready = make(chan struct{})
	l.mu.Lock()
	for err := l.admitLocked(w); err != nil; err = l.admitLocked(w) {
		l.mu.Unlock()
		if c, other := err.(*conflict); !other {
			return err
		} else if !c.settles() {
			return c.error
		}
		l.mu.Lock()
	}
	if t := l.mineLocked(w); t != nil {
		l.mu.Unlock()
		return l.again(w, t)
	}
	if w.shares() && l.queue.Len() == 0 && l.shareLocked(w) {
		l.mu.Unlock()
		return nil
	}
	ahead := l.aheadLocked(w)
	if w.acq.Try && (ahead != nil || l.queue.Len() > 0) {
		l.mu.Unlock()
		return ErrBusy
	}
	if ahead != nil {
		w.ahead, w.contended, w.told = ahead, true, toldLocal
	}
	w.waits, w.granted = true, false
	w.elem = l.queue.PushBack(w)
	l.s.stats.waiting.Add(1)
	if w.kind == znode.Permit {
		l.stand(w)
	}
	l.advanceLocked()
	l.mu.Unlock()
	return nil
}

// wait waits in the local line.
func (l *lock) wait(w *waiter) error {
	done := w.call.Done()
	switch {
	case w.news != nil:
		return l.listen(w)
	case done == nil:
		<-w.ready
		return w.over()
	}
	select {
	case <-w.ready:
		return w.over()
	case <-done:
		return ctxErr(w.call)
	}
}

// listen is wait with a tracer that wants to know whom the call waits for.
func (l *lock) listen(w *waiter) error {
	if w.ahead != nil {
		l.tellLocal(w, w.ahead)
	}
	for {
		select {
		case <-w.ready:
			return w.over()
		case <-w.call.Done():
			return ctxErr(w.call)
		case <-w.news:
			l.mu.Lock()
			p := w.told
			l.mu.Unlock()
			if p != toldLocal { // as tellLocal has done
				l.s.cfg.tracer.Blocked(w.ctx, *p)
			}
		}
	}
}

// over is what has come of a call that was told.
//
//go:noinline
func (w *waiter) over() error {
	if w.err == nil && w.call.Err() != nil {
		return ctxErr(w.call) // granted after the end: given back
	}
	w.granted = w.err == nil
	return w.err
}

// left ends a wait.
//
//go:noinline
func (l *lock) left(w *waiter) {
	w.waits, w.ahead = false, nil
	l.s.stats.waiting.Add(-1)
	if !w.granted {
		l.abandon(w)
	}
}

// admitLocked refuses calls that can't be served.
func (l *lock) admitLocked(w *waiter) error {
	switch {
	case l.s.closed.Load(), l.s.stopped.Load() && !w.noErr && l.mineLocked(w) == nil:
		return ErrClosed // a holder may enter again until it has finished
	case l.idleLocked():
		return l.bindLocked(w.terms)
	}
	return l.agrees(w.terms)
}

// abandon takes a call out that ends without the lock. What it was granted
// meanwhile is given back, and whoever is next is woken.
func (l *lock) abandon(w *waiter) {
	l.mu.Lock()
	select {
	case <-w.ready:
		l.mu.Unlock()
		if w.err == nil {
			l.undo(w)
		}
		return
	default:
	}
	r := l.runLocked(w)
	l.noteLocked(w)
	l.queue.Remove(w.elem)
	if w.kind == znode.Permit {
		l.withdrawLocked(r)
		l.nothingsLocked()
	} else {
		l.advanceLocked()
	}
	cancelled := r != nil && !slices.Contains(l.runs, r)
	l.mu.Unlock()
	if cancelled {
		brief(r.done)
	}
}

// brief waits a moment for a deletion that should be over soon: a call that
// ends leaves, as a rule, no node behind when it returns, but its deadline
// counts for more.
func brief(done <-chan struct{}) {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// noteLocked notes where w stands, for the error that it ends with.
func (l *lock) noteLocked(w *waiter) {
	w.place = l.placeLocked(w)
	if r := l.runLocked(w); r != nil {
		w.node = r.e.Last()
	}
}

// placeLocked is where w stands: behind those before it here, and behind those
// before the first of us elsewhere; 0 as long as that is not known.
func (l *lock) placeLocked(w *waiter) int {
	n := 1
	r := l.runLocked(w)
	if r != nil && !r.reused {
		if n = r.e.Position(); n == 0 {
			return 0
		}
	}
	if r != nil && r.w == w {
		return n // readers before it have entries of their own
	}
	for e := l.queue.Front(); e != nil && e != w.elem; e = e.Next() {
		n++
	}
	return n
}
