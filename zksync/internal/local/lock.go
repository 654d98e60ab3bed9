package local

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// Lock is what all values for one name on one session share: the line, which
// decides, under a mutex, and the hands that act for it. It exists while somebody
// uses it.
//
// A goroutine may take Lock.mu and then the table's mutex or the connection's, never
// the other way round. No request is made under Lock.mu: a request takes as long as
// the servers are away, and everybody who uses the lock would wait with it.
type Lock struct {
	t    *Table
	path string // as the program named it
	name string // in the table: the path in ZooKeeper, or a key for several
	refs int    // guarded by t.mu: calls, holders, and goroutines of the lock

	// Of whoever was first to use the idle lock, who have been heeded since, if
	// bound. Written with both mutexes held, and read with one of them.
	terms Terms
	bound bool // guarded by t.mu

	mu      sync.Mutex
	line    line          // guarded by mu
	counted int           // guarded by mu; holders that refs and the table's Held count
	behind  bool          // guarded by mu; who leaves does so once newest stands in line
	newest  *Ticket       // guarded by mu
	there   chan struct{} // guarded by mu; closed once a permit's node has been made; nil: no call for permits yet
	crowd   crowd         // guarded by mu
	ending  *Ticket       // guarded by mu; of the holder that is ending
	todo    deferred      // guarded by mu
}

// deferred is what has to wait until Lock.mu is free, since it runs functions of the
// program's or takes its time. Of several holders that are lost at once the contexts
// of all end before the rest is done for any.
type deferred struct {
	ends []func() // end contexts
	rest []func()
}

func (d deferred) run() {
	for _, f := range d.ends {
		f()
	}
	for _, f := range d.rest {
		f()
	}
}

// finish ends what was begun under the mutex: it counts the holders, and does what
// had to wait.
func (l *Lock) finish() {
	if l.line.held.Len() == l.counted && l.todo.ends == nil && l.todo.rest == nil {
		l.mu.Unlock()
		return
	}
	l.settle()
}

// settle is a function of its own for the stack of those who wait.
//
//go:noinline
func (l *Lock) settle() { l.unlock().run() }

// unlock is finish but for what had to wait, which it returns.
func (l *Lock) unlock() deferred {
	d := l.todo
	l.todo = deferred{}
	change := l.line.held.Len() - l.counted
	l.counted += change
	if change != 0 {
		l.t.Held.Add(int64(change))
		l.ref(max(change, 0))
	}
	l.mu.Unlock()
	for ; change < 0; change++ {
		l.Leave()
	}
	return d
}

// The errors of Acquire that are the lock's own. All others are those of package queue
// or package conn, or the loss of what an owner held: see Observer.Lost.
var (
	ErrDone     = errors.New("the call's ctx has ended")
	ErrRefused  = errors.New("the session takes no more calls")
	ErrDeadlock = errors.New("the owner would wait for itself")
)

// Acquire waits for the lock. On success the call has a holder, and its handle if one
// was wanted. On failure nothing is left, but what could not be deleted yet, which the
// cleaner has.
//
// From the call of a lock's method down to wait little is kept on the stack, so
// that a call can wait on the 2 KiB which a goroutine begins with: hence the
// functions in between that are not inlined, and all that Call carries.
func (l *Lock) Acquire(c *Call) error {
	for {
		err := l.join(c)
		if c.waits {
			err = l.wait(c)
			l.left(c)
		}
		if err != nil || c.holder == nil || l.t.Conn.Alive(c.holder.ticket.e.Session()) {
			return err
		}
		// The process was stopped between the grant and here, for so long that
		// the session may be over. A timer would not have run yet, so the clock
		// is compared here.
		l.Undo(c)
	}
}

// join puts the call in the line, where it waits, or says at once what becomes of it.
//
//go:noinline
func (l *Lock) join(c *Call) error {
	if c.Ctx.Err() != nil {
		return ErrDone // a done context never acquires
	}
	if l.t.Peers && c.news == nil {
		c.news = make(chan struct{}, 1)
	}
	c.ready, c.granted, c.Handed, c.err, c.holder = make(chan struct{}), false, false, nil, nil
	l.mu.Lock()
	for err := l.admits(c); err != nil; err = l.admits(c) {
		l.mu.Unlock()
		if k, other := err.(*conflict); !other {
			return err
		} else if !k.settles() {
			return k.error
		}
		l.mu.Lock()
	}
	if h := l.line.mine(c.Owner, c.Kind); h != nil {
		l.mu.Unlock()
		return l.again(c, h)
	}
	ahead := l.aheadOf(c)
	err := l.line.join(c)
	if err == nil && c.group != nil {
		l.waits(c, ahead)
	}
	l.finish()
	return err
}

// aheadOf returns a holder of this session that keeps the call from the lock, if
// there is one.
func (l *Lock) aheadOf(c *Call) *Holder {
	if l.line.single != nil || !c.Kind.Alone() {
		return l.line.single
	}
	for e := l.line.held.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*Holder); h.lost == nil {
			return h
		}
	}
	return nil
}

// waits notes that the call waits in the line.
func (l *Lock) waits(c *Call, ahead *Holder) {
	c.waits = true
	if ahead != nil {
		c.ahead, c.Contended, c.told = ahead, true, toldLocal
	} else if t := c.group.ticket; t != nil && t.peer != nil {
		c.tell(t.peer)
	}
	l.t.Waiting.Add(c.counts())
}

// counts is 1 for a call that counts as one that waits: it is not one for no permits.
func (c *Call) counts() int64 {
	if c.Kind == Permit && c.Weight == 0 {
		return 0
	}
	return 1
}

// wait waits in the line.
func (l *Lock) wait(c *Call) error {
	done := c.Ctx.Done()
	switch {
	case c.news != nil:
		return l.listen(c)
	case done == nil:
		<-c.ready
		return c.over()
	}
	select {
	case <-c.ready:
		return c.over()
	case <-done:
		return ErrDone
	}
}

// over is what has come of a call that was told.
//
//go:noinline
func (c *Call) over() error {
	if c.err == nil && c.Ctx.Err() != nil {
		return ErrDone // granted after the end: given back
	}
	c.granted = c.err == nil
	return c.err
}

// left ends a wait.
//
//go:noinline
func (l *Lock) left(c *Call) {
	c.waits, c.ahead = false, nil
	l.t.Waiting.Add(-c.counts())
	if !c.granted {
		l.abandon(c)
	}
}

// admits refuses calls that can't be served.
func (l *Lock) admits(c *Call) error {
	switch {
	case l.t.closed.Load(), l.t.stopped() && !c.Must && l.line.mine(c.Owner, c.Kind) == nil:
		return ErrRefused // a holder may enter again until it has finished
	case c.Kind == Permit && c.Weight == 0:
		return l.nothing(c.Terms)
	case l.idle():
		return l.bind(c.Terms)
	}
	return l.terms.agrees(c.Terms)
}

// nothing is admits for a call for no permits, which makes no request and binds the
// lock to no terms.
func (l *Lock) nothing(terms *Terms) error {
	if err := l.partsRefuse(terms); err != nil {
		return err
	}
	if !l.idle() && !l.terms.Permits {
		return ErrKind // its line is the lock's: whoever waits for it stands in ZooKeeper's, too
	}
	return nil
}

// idle reports whether nobody wants the lock or has it, whatever is left to be
// cleaned up.
func (l *Lock) idle() bool {
	return l.line.first() == nil && l.line.held.Len() == 0 && l.line.moving == 0
}

// abandon takes a call out that ends without the lock. What it was granted
// meanwhile is given back, and whoever is next is woken.
func (l *Lock) abandon(c *Call) {
	l.mu.Lock()
	if c.group == nil {
		l.mu.Unlock()
		if c.err == nil {
			l.Undo(c)
		}
		return
	}
	t := c.group.ticket
	l.note(c)
	l.line.quit(c)
	leaves := t != nil && t.left
	l.finish()
	if leaves {
		brief(t.gone)
	}
}

// note notes where a call stands, for the error that it ends with.
func (l *Lock) note(c *Call) {
	c.Position = l.position(c)
	if t := l.ticketFor(c); t != nil && t.e != nil {
		c.Node = t.e.Last()
	}
}

// ticketFor returns the ticket that stands for a call that waits, or for those before
// it.
func (l *Lock) ticketFor(c *Call) *Ticket {
	if t := c.group.ticket; t != nil {
		return t
	}
	if g := l.line.first(); g != nil {
		return g.ticket
	}
	return nil
}

// position is where a call stands that waits: behind those before it here, and behind
// those before the first of us elsewhere; 0 as long as that is not known.
func (l *Lock) position(c *Call) int {
	n := 1
	t := l.ticketFor(c)
	if t != nil && !t.renewed {
		if n = t.e.Position(); n == 0 {
			return 0
		}
	}
	if c.group.ticket != nil {
		return n
	}
	for g := l.line.first(); g != nil && g != c.group; g = l.line.next(g) {
		n += len(g.calls)
	}
	return n
}

// Undo gives back what a call was granted that ends with an error.
func (l *Lock) Undo(c *Call) {
	h := c.holder
	c.holder = nil
	l.mu.Lock()
	if h.shared {
		h.ticket.pub.leaves(traceID(c.Name.Trace))
	}
	switch {
	case h.over():
		l.mu.Unlock()
		return // lost meanwhile, and free already
	case c.Want.Handle:
		if c.Handle.ended != nil {
			l.mu.Unlock()
			return
		}
		l.shut(c.Handle, context.Canceled)
	case h.kind == Permit && !c.enters:
		h.levels = 0
	default:
		h.levels--
	}
	b := l.vacate(h, true)
	l.finish()
	b.Run()
	if b.Deletion != nil {
		brief(b.Deletion.done)
	}
}

// refuse ends the waits that can be told with err; with all, every wait, and has the
// holders be lost by it.
func (l *Lock) refuse(all bool, err error) deferred {
	l.mu.Lock()
	var calls []*Call
	for g := l.line.first(); g != nil; g = l.line.next(g) {
		calls = append(calls, g.calls...)
	}
	for _, c := range slices.Backward(calls) {
		if c.group == nil || !all && c.Must {
			continue // answered meanwhile, or not to be told
		}
		l.note(c)
		c.err = err
		l.line.quit(c)
		close(c.ready)
	}
	if all {
		for _, h := range l.live() {
			l.line.lose(h, err)
		}
	}
	return l.unlock()
}

// live returns the holders that are not lost.
func (l *Lock) live() (all []*Holder) {
	for e := l.line.held.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*Holder); h.lost == nil {
			all = append(all, h)
		}
	}
	return all
}

// sessionOver ends the holders whose session is over.
func (l *Lock) sessionOver() deferred {
	l.mu.Lock()
	st, _ := l.t.Conn.State()
	for _, h := range l.live() {
		if h.ticket.e.Session() != st.Session {
			l.line.lose(h, conn.ErrSessionOver)
		}
	}
	return l.unlock()
}

// lose ends a holder because the lock is lost.
func (l *Lock) lose(h *Holder, why error) { l.loses(h, why).run() }

// loses is lose but for what had to wait, which it returns.
func (l *Lock) loses(h *Holder, why error) deferred {
	l.mu.Lock()
	l.line.lose(h, why)
	return l.unlock()
}

// lost is told by the line of a loss: it ends the handles, and has the program told.
func (l *Lock) lost(h *Holder) {
	why := h.lost
	if st, _ := l.t.Conn.State(); errors.Is(why, conn.ErrNodeGone) && st.Session != h.ticket.e.Session() {
		why = conn.ErrSessionOver // which is why it is gone
	}
	h.lost = l.t.Observer.Lost(why)
	l.t.Losses.Add(1)
	h.unguard()
	for c := range h.open {
		c.ended = h.lost
		if c.onEnd != nil {
			l.todo.ends = append(l.todo.ends, func() { c.onEnd(h.lost) })
		}
	}
	h.open = nil
	later := func(f func()) { l.todo.rest = append(l.todo.rest, func() { l.t.Observer.Later(f) }) }
	if told := h.first.Ended(h.lost, h.revoked, time.Since(h.start)); told != nil {
		later(told)
	}
	if h.levels > 0 {
		node, err := h.ticket.e.Node(), h.lost
		later(func() { l.t.Observer.LostUnseen(l.path, node, err) })
	}
}

// Abort ends the wait of a call whose goroutine has left it in a panic.
func (l *Lock) Abort(c *Call) {
	if c.waits {
		l.left(c)
	}
}

// Settle ends a call: what it was granted is kept, or given back.
func (l *Lock) Settle(c *Call, kept bool) {
	switch {
	case c.holder == nil:
	case !kept:
		l.Undo(c)
	case c.Kind == Permit:
		l.mu.Lock()
		c.holder.taken = true
		l.mu.Unlock()
	}
}
