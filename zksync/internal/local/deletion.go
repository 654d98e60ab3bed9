package local

import (
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Deletion is the pending deletion of a node, or a pending renewal. The call that gave
// the lock back waits for the result, or only until the request has been sent.
type Deletion struct {
	c    *conn.Conn
	e    *queue.Entry
	done chan struct{}
	err  error // written before done is closed

	mu     sync.Mutex
	sent   chan struct{} // closed, with mu held, once the request was sent; nil for a renewal
	follow func(error)   // guarded by mu; gets the result
}

func (l *Lock) newDeletion(t *Ticket) *Deletion {
	return &Deletion{c: l.t.Conn, e: t.e, done: make(chan struct{}), sent: make(chan struct{})}
}

// newRenewal returns a Deletion for a renewal. Nobody waits until a renewal is sent: the
// calls that come next in this process wait for the calls that the renewal is for.
func newRenewal() *Deletion { return &Deletion{done: make(chan struct{})} }

// is sets the result and ends all waits. It does nothing for a nil Deletion.
func (d *Deletion) is(err error) {
	if d == nil {
		return
	}
	d.wasSent()
	d.mu.Lock()
	d.err = err
	close(d.done)
	d.mu.Unlock()
	d.tell()
}

// wasSent records that the request was sent.
func (d *Deletion) wasSent() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sent != nil {
		closeOnce(d.sent)
	}
}

// Done returns a channel that is closed when Err is known.
func (d *Deletion) Done() <-chan struct{} { return d.done }

// Err returns the result, once Done is closed. The errors are those of queue.Entry.Remove.
func (d *Deletion) Err() error { return d.err }

// Follow arranges for f to be called once with the result, at once if it is known. f may be
// called with mutexes held, and in the goroutine that reads the answers: it must not
// block, and must not call a function of the program.
func (d *Deletion) Follow(f func(error)) {
	d.mu.Lock()
	d.follow = f
	d.mu.Unlock()
	select {
	case <-d.done:
		d.tell()
	default:
	}
}

// tell passes the result on to the function that follows it, once.
func (d *Deletion) tell() {
	d.mu.Lock()
	f := d.follow
	d.follow = nil
	d.mu.Unlock()
	if f != nil {
		f(d.err)
	}
}

// Unsent reports whether AwaitSent would wait.
func (d *Deletion) Unsent() bool {
	if d.sent == nil {
		return false
	}
	select {
	case <-d.sent:
		return false
	default:
		st, _ := d.c.State()
		return d.awaits(st)
	}
}

// AwaitSent waits until the request was written to the connection. What this session sends
// after that comes to the server after it. It does not wait while there is no
// connection, nor for the node of a session that is over: no node stands then, or nobody
// can get the lock. It returns false if limit fires first.
func (d *Deletion) AwaitSent(limit <-chan time.Time) bool {
	for {
		st, changed := d.c.State()
		if !d.awaits(st) {
			return true
		}
		select {
		case <-d.sent:
			return true
		case <-changed:
		case <-limit:
			return false
		}
	}
}

// awaits reports whether the request may be sent soon in the state st.
func (d *Deletion) awaits(st conn.State) bool { return st.Up && st.Session == d.e.Session() }

// Back is the result of giving a level or a handle back.
type Back struct {
	Node     string
	Lost     error     // the loss, if it was noticed before
	Deletion *Deletion // to wait for; nil: nothing
	ended    func()    // reports the end of the holding to the program
	release  *release  // the deletion of the node, which Run begins; nil: none
}

// Deletes reports whether Run begins the deletion of a node.
func (b Back) Deletes() bool { return b.release != nil }

// Run reports the end of the holding to the program, and begins the deletion of the node.
// It has to be called. pace is that of the deletion, if one request is enough and can be
// sent at once; see Deletion.AwaitSent for all others. The caller must not count as a user
// of the lock: a function of the program may wait until the lock has no users.
func (b Back) Run(pace conn.Pace) {
	switch {
	case b.release != nil && b.release.tells:
		b.release.tell(b.ended, pace)
	case b.release != nil:
		b.release.begin(pace)
	case b.ended != nil:
		b.ended()
	}
}

// release is the deletion of the node of a holder that has given the lock back.
type release struct {
	l     *Lock
	t     *Ticket
	d     *Deletion
	first Caller // of the holder

	tells    bool          // the program is told of the end and of the result
	told     chan struct{} // closed when it has been told of the end; nil: the deletion begins after that
	released func(error)   // written before the deletion begins or told is closed; reports the result to the program
}

// gives has the node of a ticket deleted once Back.Run is called. Shutdown waits for the
// deletion, from before the lock leaves the table.
func (l *Lock) gives(t *Ticket, first Caller, b *Back) {
	t.given, t.rel = true, l.newDeletion(t)
	b.Deletion = t.rel
	r := &release{l: l, t: t, d: t.rel, first: first, tells: l.t.Told}
	b.release = r
	if r.tells && !l.t.tells(r) {
		l.todo.rest = append(l.todo.rest, func() { r.begin(conn.Later) })
	}
	l.t.deletes(1)
}

// tell reports the end of the holding to the program, and then begins the deletion. The
// deletion does not wait for the program once the session shuts down: Close has no time
// for that, and the function that gets the report may be waiting in Shutdown.
func (r *release) tell(ended func(), pace conn.Pace) {
	defer func() { // even if the tracer panics
		if r.l.t.told(r) {
			r.begin(pace)
		} else {
			close(r.told)
		}
	}()
	if ended != nil {
		ended()
	}
	r.released = r.first.Releasing()
}

// begin begins the deletion, in the caller's goroutine if one request does it.
func (r *release) begin(pace conn.Pace) { r.l.t.removeSoon(r.t.e, pace, r.d.wasSent, r.removed) }

// removed is called with the result of the deletion. It must not block.
func (r *release) removed(err error) {
	if !r.tells {
		r.l.gone(r.t, err) // first: Shutdown must not end before a loss is logged
		r.l.t.deletes(-1)
		return
	}
	r.l.t.Observer.Running(1)
	r.l.t.deletes(-1)
	go r.report(err)
}

// report reports the result of the deletion to the program.
func (r *release) report(err error) {
	defer r.l.t.Observer.Running(-1)
	if r.told != nil {
		<-r.told
	}
	if r.released != nil {
		r.released(err)
	}
	r.l.gone(r.t, err)
}
