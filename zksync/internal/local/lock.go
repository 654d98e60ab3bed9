package local

import (
	"errors"
	"sync"
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
		if c.into != nil && err == nil {
			err = l.comes(c)
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
	c.ready, c.granted, c.Handed, c.enters, c.err, c.holder, c.into = make(chan struct{}), false, false, false, nil, nil, nil
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
	if c.waits && l.t.Entangled(l.name, c.Terms, c.Owner) {
		l.forbid(c.Owner) // it got that lock after enter had looked
	}
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
	} else if t == nil {
		c.Contended = c.Contended || c.Kind == Permit
		if e := l.line.edge; l.t.Peers && e != nil && e.ticket != nil && e.ticket.peer != nil {
			l.tellBehind(e.ticket)
		}
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
