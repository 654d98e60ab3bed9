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

// Unlock ends one level of the lock: of its read side if read is set, otherwise of the
// other side. With an owner it ends a level of that owner, or if there is none one that has
// no owner; without one it ends any level. by is what is known of the call that gives back.
func (l *Lock) Unlock(read bool, owner string, by Name) (b Back, err error) {
	l.mu.Lock()
	side := Kind.Alone
	if read {
		side = isRead
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

// isRead is the kinds of the read side, as Kind.Alone is those of the other side.
func isRead(k Kind) bool { return k == Read }

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
// the newest. It appends the results to all. If there are fewer than n, it does nothing and
// returns ErrUnlocked.
func (l *Lock) GiveBack(n int64, all []Back) ([]Back, error) {
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
	b.Deletion = l.newDeletion(t)
	t.weight = h.levels
	t.lease = queue.Lease{} // the end of its node is no loss
	t.shrunk++
	l.t.expect()
	l.ref(1)
	run := func() {
		defer l.Leave()
		err := t.e.Shrink(func() int64 { return l.weight(t) }, b.Deletion.wasSent)
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
		l.gives(t, h.first, &b)
	default: // renewed, lingering, or handed over at once
		b.Deletion = t.rel
	}
	return b
}
