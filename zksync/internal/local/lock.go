package local

import (
	"errors"
	"sync"
	"time"
)

// Lock is shared by all values for one name on one session. It has the line, guarded by
// a mutex, and is the hands of the line. It exists while a call, a holder or a goroutine
// uses it.
//
// A goroutine may take Lock.mu and then the table's mutex or the connection's, never
// the other way round. No request is made under Lock.mu: a request may take as long as
// the servers are away, and would block every user of the lock.
type Lock struct {
	t    *Table
	path string // as the program gave it
	name string // the key in the table: the path in ZooKeeper, or a key for several paths
	refs int    // guarded by t.mu; the number of calls, holders and goroutines that use the lock

	// If bound, the terms of the first call that used the idle lock, which hold for
	// all later ones. Written with both mutexes held, and read with one of them.
	terms Terms
	bound bool // guarded by t.mu

	mu      sync.Mutex
	behind  bool          // guarded by mu; a ticket that leaves now waits until newest stands in line
	line    line          // guarded by mu
	counted int           // guarded by mu; holders, and the ticket that lingers, that refs counts
	held    int           // guarded by mu; holders that the table's Held counts
	newest  *Ticket       // guarded by mu; the ticket made last
	there   chan struct{} // guarded by mu; closed once a permit's node has been made; nil: no call for permits yet
	crowd   *crowd        // guarded by mu; nil: no permit of this session has had to wait
	now     time.Time     // guarded by mu; the time, if the caller has read it; else zero
	ending  *Ticket       // guarded by mu; the ticket of the holder that is ending
	leavers []*Ticket     // guarded by mu; the tickets that left in line, until their nodes are gone
	joining bool          // guarded by mu; a call joins the line
	soon    *Ticket       // guarded by mu; the ticket that was made for that call, which makes the first request
	todo    deferred      // guarded by mu; runs once mu is free

	wake, lastWake *Call // guarded by mu; the calls that have their answers, linked by woken
}

// deferred holds work that must wait until Lock.mu is free, because it calls functions
// of the program or takes time. When several holders are lost at once, the contexts of
// all of them end before the rest is done for any of them.
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

// finish counts the holders, releases the mutex and runs the deferred work.
func (l *Lock) finish() {
	if l.line.held.n == l.held && l.line.users() == l.counted && l.todo.ends == nil && l.todo.rest == nil {
		wake := l.wake
		l.wake = nil
		l.mu.Unlock()
		wakeAll(wake)
		return
	}
	l.settle()
}

// time returns the time, which the caller may have read before.
func (l *Lock) time() time.Time {
	if l.now.IsZero() {
		return time.Now()
	}
	return l.now
}

// settle is not inlined, which keeps the stack of waiting goroutines small.
//
//go:noinline
func (l *Lock) settle() { l.unlock().run() }

// unlock does the same as finish, but returns the deferred work instead of running it.
func (l *Lock) unlock() deferred {
	d := l.todo
	l.todo = deferred{}
	change := l.count()
	wake := l.wake
	l.wake = nil
	l.mu.Unlock()
	wakeAll(wake)
	for ; change < 0; change++ {
		l.Leave()
	}
	return d
}

// users returns the number of those in the line that count as users of the lock: the
// holders, and the ticket that lingers.
func (l *line) users() int {
	if l.resting != nil {
		return l.held.n + 1
	}
	return l.held.n
}

// count counts the holders that have come or gone since the last time, and those that
// have come as users of the lock. It returns the change of the number of users.
func (l *Lock) count() (change int) {
	if held := l.line.held.n - l.held; held != 0 {
		l.held += held
		l.t.Held.Add(int64(held))
	}
	if change = l.line.users() - l.counted; change > 0 {
		l.ref(change)
	}
	l.counted += change
	return change
}

// The errors of Acquire that are the lock's own. All others are those of package queue
// or package conn, or the loss of what an owner held: see Observer.Lost.
var (
	ErrDone     = errors.New("the call's ctx has ended")
	ErrRefused  = errors.New("the session takes no more calls")
	ErrDeadlock = errors.New("the owner would wait for itself")
)

// Acquire waits for the lock. On success the call has a holder, and a handle if it asked
// for one. On failure nothing is left except nodes that could not be deleted yet; the
// cleaner deletes those.
//
// The frames from a method of a lock down to wait are small, so that a call can wait on
// the 2 KiB with which a goroutine starts. That is why some functions in between are not
// inlined, and why Call has the data of the wait.
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
			if err == nil && c.Owner != "" && c.holder != nil {
				l.accepts(c)
			}
			return err
		}
		// The process was stopped between the grant and here, for so long that
		// the session may be over. A timer would not have run yet, so the clock
		// is compared here.
		l.Undo(c)
	}
}

// join puts the call in the line, where it is granted at once or waits. It returns an
// error if the call is refused.
//
//go:noinline
func (l *Lock) join(c *Call) error {
	if c.Ctx.Err() != nil {
		return ErrDone // a done context never acquires
	}
	if l.t.Peers && c.news == nil {
		c.news = make(chan struct{}, 1)
	}
	if c.ready == nil {
		c.ready = make(chan struct{}, 1)
	}
	c.queued, c.granted, c.Handed, c.enters, c.err, c.holder, c.into = false, false, false, false, nil, nil, nil
	if c.Terms.Parts != nil {
		l.t.makeWay(c)
	}
	l.mu.Lock()
	l.makeWay(c)
	for err := l.admits(c); err != nil; err = l.admits(c) {
		l.finish() // makeWay may have left work
		if k, other := err.(*conflict); !other {
			return err
		} else if !k.settles() {
			return k.error
		}
		l.mu.Lock()
	}
	if h := l.line.enterable(c); h != nil {
		l.mu.Unlock()
		return l.again(c, h)
	}
	ahead := l.aheadOf(c)
	c.came = l.t.came.Add(1)
	l.joining = true
	err := l.line.join(c)
	l.joining = false
	switch {
	case err != nil:
		c.peer = l.before(c)
	case c.group != nil:
		l.waits(c, ahead)
	}
	if t := l.soon; t == nil {
		l.finish()
	} else {
		l.soon = nil
		d := l.unlock()
		if d.rest == nil {
			l.standSoon(t)
		} else {
			go l.stands(t) // the deletion of a node that lingered is not to come after the create
		}
		d.run()
	}
	if c.waits && l.t.Entangled(l.name, c.Terms, c.Owner) {
		l.forbid(c.Owner, c.came) // it got that lock after enter had looked
	}
	return err
}

// aheadOf returns a holder of this session that blocks the call, or nil.
func (l *Lock) aheadOf(c *Call) *Holder {
	if l.line.single != nil || !c.Kind.Alone() {
		return l.line.single
	}
	for h := l.line.held.first; h != nil; h = h.next {
		if h.lost == nil {
			return h
		}
	}
	return nil
}

// waits records that the call waits in the line.
func (l *Lock) waits(c *Call, ahead *Holder) {
	c.waits, c.queued = true, true
	if ahead != nil {
		c.ahead, c.Contended, c.peer = ahead, true, ownSession
	} else if t := c.group.ticket; t != nil && t.peer != nil {
		c.notify(t.peer)
	} else if t == nil {
		c.Contended = c.Contended || c.Kind == Permit
		if e := l.line.edge; l.t.Peers && e != nil && e.ticket != nil && e.ticket.peer != nil {
			l.notifyBehind(e.ticket)
		}
	}
	l.t.Waiting.Add(c.counts())
}

// counts returns 1 if the call counts as waiting, and 0 for a call for no permits.
func (c *Call) counts() int64 {
	if c.Kind == Permit && c.Weight == 0 {
		return 0
	}
	return 1
}

// wait waits until the call is answered or its context ends.
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

// over returns the result of a call that was answered.
//
//go:noinline
func (c *Call) over() error {
	if c.err == nil && c.Ctx.Err() != nil {
		return ErrDone // it was granted after the end, so that the grant is given back
	}
	c.granted = c.err == nil
	return c.err
}

// left ends the wait of a call, and abandons the call unless it was granted.
//
//go:noinline
func (l *Lock) left(c *Call) {
	c.waits, c.ahead = false, nil
	l.t.Waiting.Add(-c.counts())
	if !c.granted {
		l.abandon(c)
	}
}
