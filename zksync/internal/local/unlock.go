package local

import (
	"errors"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// The errors of Unlock and GiveBack, with which nothing is done.
var (
	ErrUnlocked = errors.New("the lock is not locked")
	ErrHandle   = errors.New("the lock is held by a handle")
	ErrOthers   = errors.New("only other owners hold the lock")
)

// Deletion is the end of a node, or of a renewal, that whoever gave the lock back
// waits for.
type Deletion struct {
	done chan struct{}
	err  error // before done is closed
}

func newDeletion() *Deletion { return &Deletion{done: make(chan struct{})} }

// is ends the wait. A nil Deletion does nothing.
func (d *Deletion) is(err error) {
	if d != nil {
		d.err = err
		close(d.done)
	}
}

// Done returns a channel that is closed when Err is known.
func (d *Deletion) Done() <-chan struct{} { return d.done }

// Err returns what the deletion came to, once Done is closed: see queue.Entry's Remove.
func (d *Deletion) Err() error { return d.err }

// Back is what has come of giving a level or a handle back.
type Back struct {
	Node     string
	Lost     error     // the lock had been lost, which had been noticed before
	Deletion *Deletion // to wait for; nil: nothing
	told     func()
}

// Run tells the program of the end of the holding. Whoever runs it is not counted in
// as a user of the lock: what it runs may wait until nobody is.
func (b Back) Run() {
	if b.told != nil {
		b.told()
	}
}

// Unlock ends one level of the lock, of its read side or of the other one: for an owner
// one of its own, or if it has none one of nobody's; for nobody whoever's it is. by is
// what is known of the call which gives back.
func (l *Lock) Unlock(read bool, owner string, by Name) (b Back, err error) {
	l.mu.Lock()
	side := Kind.Alone
	if read {
		side = func(k Kind) bool { return k == Read }
	}
	h := l.line.pays(side, owner)
	if h == nil {
		defer l.mu.Unlock()
		return Back{}, l.unpaid(side, owner)
	}
	if h.shared {
		h.ticket.pub.leaves(by)
	}
	h.levels--
	b = l.vacate(h, false)
	l.finish()
	return b, nil
}

// unpaid says why there is no level to end.
func (l *Lock) unpaid(side func(Kind) bool, owner string) error {
	err := ErrUnlocked
	for e := l.line.held.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Holder)
		switch {
		case !side(h.kind):
		case h.others(owner):
			err = ErrOthers
		default:
			return ErrHandle
		}
	}
	return err
}

// GiveBack gives so many permits back that were taken without a handle: those that
// were lost first, then the newest. Fewer are ErrUnlocked, and nothing is done.
func (l *Lock) GiveBack(n int64) (all []Back, err error) {
	l.mu.Lock()
	if l.loose() < n {
		l.mu.Unlock()
		return nil, ErrUnlocked
	}
	for n > 0 {
		h := l.line.pays(func(k Kind) bool { return k == Permit }, "")
		size := min(h.levels, n)
		h.levels -= size
		n -= size
		if h.levels > 0 {
			all = append(all, l.shrink(h))
		} else {
			all = append(all, l.vacate(h, false))
		}
	}
	l.finish()
	return all, nil
}

// loose is the number of permits that may be given back.
func (l *Lock) loose() (sum int64) {
	for e := l.line.held.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*Holder); h.kind == Permit && h.taken {
			sum += h.levels
		}
	}
	return sum
}

// shrink gives a part of a permit back.
func (l *Lock) shrink(h *Holder) Back {
	t := h.ticket
	b := Back{Node: t.e.Node(), Lost: h.lost}
	if h.lost != nil {
		return b
	}
	b.Deletion = newDeletion()
	t.weight = h.levels
	t.lease = queue.Lease{} // the end of its node is no loss
	t.shrunk++
	l.t.expect()
	l.ref(1)
	run := func() {
		defer l.Leave()
		err := t.e.Shrink(func() int64 { return l.weight(t) })
		if gone(err) {
			l.lose(h, err)
			l.mu.Lock()
			err = h.lost // nil: the rest has been given back, which tells
			l.mu.Unlock()
		}
		l.t.settled()
		b.Deletion.is(err)
	}
	l.todo.rest = append(l.todo.rest, func() {
		l.t.begin()
		go run()
	})
	return b
}

// vacate ends the holder if a level or a handle given back was its last: the lock goes
// to the next call here, or the node is deleted. The place is free here before the
// deletion is sent. That grants nothing twice: whoever is next here stands in
// ZooKeeper's line behind the node, until the node is gone. A caller that is counted in
// as a user of the lock passes within: the end is told in another goroutine then.
func (l *Lock) vacate(h *Holder, within bool) Back {
	t := h.ticket
	b := Back{Node: t.e.Node(), Lost: h.lost}
	if len(h.open) == 0 {
		h.unguard()
	}
	if !h.over() {
		return b
	}
	if b.told = h.first.Ended(nil, h.revoked, time.Since(h.start)); b.told != nil && within {
		told := b.told
		b.told = func() { l.t.Observer.Later(told) }
	}
	l.ending = t
	l.line.end(h)
	l.ending = nil
	switch {
	case h.lost != nil:
	case t.left:
		l.release(t, h.first, &b)
	default: // renewed, or handed over at once
		b.Deletion = t.rel
	}
	return b
}

// release has the node of a holder that has ended deleted.
//
// Shutdown waits for the deletion, from before the lock leaves the table. The
// deletion waits for the end to be told, but not while the session shuts down: Close
// has no time for that, and what is told may be what waits in Shutdown.
func (l *Lock) release(t *Ticket, first Caller, b *Back) {
	t.given, t.rel = true, newDeletion()
	b.Deletion = t.rel
	heard := make(chan struct{})
	var ended func(error) // before heard is closed
	told, obs := b.told, l.t.Observer
	b.told = func() {
		defer close(heard) // also when the tracer panics
		if told != nil {
			told()
		}
		ended = first.Releasing()
	}
	l.t.deletes(1)
	run := func() {
		select {
		case <-heard:
		case <-l.t.over:
		}
		err := l.t.remove(t.e)
		obs.Tells(1)
		defer obs.Tells(-1)
		l.t.deletes(-1)
		<-heard
		if ended != nil {
			ended(err)
		}
		l.gone(t, err)
	}
	l.todo.rest = append(l.todo.rest, func() { go run() })
}
