package local

import (
	"errors"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// The errors of Unlock and GiveBack. Nothing is done then.
var (
	ErrUnlocked = errors.New("the lock is not locked")
	ErrHandle   = errors.New("the lock is held by a handle")
	ErrOthers   = errors.New("only other owners hold the lock")
)

// Deletion is the pending deletion of a node, or a pending renewal. The call that gave
// the lock back waits for it.
type Deletion struct {
	done chan struct{}
	err  error // written before done is closed
}

func newDeletion() *Deletion { return &Deletion{done: make(chan struct{})} }

// is sets the result and ends the wait. It does nothing for a nil Deletion.
func (d *Deletion) is(err error) {
	if d != nil {
		d.err = err
		close(d.done)
	}
}

// Done returns a channel that is closed when Err is known.
func (d *Deletion) Done() <-chan struct{} { return d.done }

// Err returns the result, once Done is closed. The errors are those of queue.Entry.Remove.
func (d *Deletion) Err() error { return d.err }

// Back is the result of giving a level or a handle back.
type Back struct {
	Node     string
	Lost     error     // the loss, if it was noticed before
	Deletion *Deletion // to wait for; nil: nothing
	ended    func()    // reports the end of the holding to the program
}

// Run reports the end of the holding to the program. The caller must not count as a user
// of the lock: a function of the program may wait until the lock has no users.
func (b Back) Run() {
	if b.ended != nil {
		b.ended()
	}
}

// Unlock ends one level of the lock: of its read side if read is set, otherwise of the
// other side. With an owner it ends a level of that owner, or if there is none one that has
// no owner; without one it ends any level. by is what is known of the call that gives back.
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

// unpaid returns why there is no level to end.
func (l *Lock) unpaid(side func(Kind) bool, owner string) error {
	err := ErrUnlocked
	for h := l.line.held.first; h != nil; h = h.next {
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

// GiveBack gives back n permits that were taken without a handle: first lost ones, then
// the newest. If there are fewer than n, it does nothing and returns ErrUnlocked.
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

// loose returns the number of permits that may be given back.
func (l *Lock) loose() (sum int64) {
	for h := l.line.held.first; h != nil; h = h.next {
		if h.kind == Permit && h.taken {
			sum += h.levels
		}
	}
	return sum
}

// shrink gives back a part of a permit.
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
			err = h.lost // nil: the rest has been given back, and that reports the loss
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
// deletion is sent. That grants nothing twice: the next call here stands behind the node
// in ZooKeeper's line until the node is gone. A caller that counts as a user of the lock
// passes within: then another goroutine reports the end.
func (l *Lock) vacate(h *Holder, within bool) Back {
	t := h.ticket
	b := Back{Node: t.e.Node(), Lost: h.lost}
	if len(h.open) == 0 {
		h.unguard()
	}
	if !h.over() {
		return b
	}
	if b.ended = h.first.Ended(nil, h.revoked, time.Since(h.start)); b.ended != nil && within {
		ended := b.ended
		b.ended = func() { l.t.Observer.Later(ended) }
	}
	l.ending = t
	l.line.end(h)
	l.ending = nil
	if l.line.resting == t {
		l.rested(t, h.linger)
	}
	switch {
	case h.lost != nil:
	case t.left:
		l.release(t, h.first, &b)
	default: // renewed, lingering, or handed over at once
		b.Deletion = t.rel
	}
	return b
}

// release starts the deletion of the node of a holder that has ended.
//
// Shutdown waits for the deletion, from before the lock leaves the table. The
// deletion waits until the end has been reported to the program, but not while the
// session shuts down: Close has no time for that, and the function that gets the report
// may be waiting in Shutdown.
func (l *Lock) release(t *Ticket, first Caller, b *Back) {
	t.given, t.rel = true, newDeletion()
	b.Deletion = t.rel
	heard := make(chan struct{})
	var released func(error) // written before heard is closed
	ended, obs := b.ended, l.t.Observer
	b.ended = func() {
		defer close(heard) // even if the tracer panics
		if ended != nil {
			ended()
		}
		released = first.Releasing()
	}
	l.t.deletes(1)
	run := func() {
		select {
		case <-heard:
		case <-l.t.over:
		}
		err := l.t.remove(t.e)
		obs.Running(1)
		defer obs.Running(-1)
		l.t.deletes(-1)
		<-heard
		if released != nil {
			released(err)
		}
		l.gone(t, err)
	}
	l.todo.rest = append(l.todo.rest, func() { go run() })
}
