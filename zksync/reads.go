package zksync

import (
	"context"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// What a lock does for readers, beyond what it does for everybody: several
// share it, those of no owner on one node; an owner that writes may read.

// mineLocked returns the tenure of the call's own owner, if there is one: of its
// own kind if the owner has both.
func (l *lock) mineLocked(w *waiter) *tenure {
	if w.owner.IsZero() {
		return nil
	}
	var other *tenure
	if t := l.ten; t != nil && t.owner == w.owner {
		if w.kind != znode.Read {
			return t
		}
		other = t
	}
	for _, list := range [...][]*tenure{l.reads, l.debts} {
		for _, t := range list {
			if t.owner == w.owner {
				if w.kind == znode.Read || other == nil {
					return t
				}
			}
		}
	}
	return other
}

// again serves a call whose owner has the tenure t.
func (l *lock) again(w *waiter, t *tenure) error {
	switch reads := w.kind == znode.Read; {
	case reads == (t.kind == znode.Read):
		return l.reenter(w, t)
	case reads && t.kind == znode.Write:
		return l.downgrade(w, t)
	}
	// The owner reads and wants to write: it would wait for its own read node.
	return ErrDeadlock
}

// aheadLocked returns a tenure of this session that keeps the call from the
// lock, if there is one.
func (l *lock) aheadLocked(w *waiter) *tenure {
	if l.ten == nil && w.kind != znode.Read && w.kind != znode.Permit && len(l.reads) > 0 {
		return l.reads[0]
	}
	return l.ten
}

// joinableLocked returns a tenure that readers may join: it is shared, and the
// budget of those who do is not used up.
func (l *lock) joinableLocked(w *waiter) *tenure {
	if !w.shares() || l.ten != nil {
		return nil
	}
	for _, t := range l.reads {
		if t.shared && !t.exposed && t.handoffs < min(t.handoff, w.handoff) {
			return t
		}
	}
	return nil
}

// shareLocked lets a reader that came just now join others, if that takes no
// request.
func (l *lock) shareLocked(w *waiter) bool {
	t := l.joinableLocked(w)
	if t == nil || !t.e.Fit(t.lease) {
		return false
	}
	t.admitLocked(w, true)
	return true
}

// joinLocked has the readers that w stands for join others, at once or once the
// node is known to be there; false if there is nobody to join.
func (l *lock) joinLocked(w *waiter) bool {
	t := l.joinableLocked(w)
	if t == nil {
		return false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &run{e: t.e, kind: t.kind, w: w, lease: t.lease, on: t, reused: true, handoffs: t.handoffs,
		cancel: cancel, done: make(chan struct{}), pub: t.pub}
	if t.e.Fit(t.lease) {
		l.grantLocked(r)
		cancel(nil)
		return true
	}
	l.runs = append(l.runs, r)
	l.ref()
	l.renew(ctx, r, t.lease.Own(), false)
	return true
}

// downgrade gives an owner that writes the read lock, too. The read node gets the
// sequence of the write node, so that no writer that waits gets in between. It
// keeps the write's fence: its own zxid would be above that of a writer that
// waits already, and the resource would refuse that writer for ever.
func (l *lock) downgrade(w *waiter, t *tenure) error {
	for {
		l.mu.Lock()
		lost, over := t.lost, t.over
		l.mu.Unlock()
		switch {
		case over:
			return l.acquire(w)
		case lost != nil:
			return lost
		}
		var e *queue.Entry
		if err := l.beside(w, t, &e); err != nil {
			if err := t.judge(w.call, err); err != nil {
				return err
			}
			continue
		}
		l.mu.Lock()
		if t.over || t.lost != nil {
			l.mu.Unlock()
			l.drop(e)
			continue
		}
		r := &run{e: e, kind: znode.Read, w: w}
		l.newHolderLocked(w, r).admitLocked(w, false)
		l.advanceLocked() // a writer that waited for a hand-over has to stand in line
		l.mu.Unlock()
		return nil
	}
}

// beside makes the read node, and forgets it if the call ends first.
func (l *lock) beside(w *waiter, t *tenure, made **queue.Entry) error {
	_, says := l.s.payload(w, true) // nobody else will be served by it
	order := queue.Order{
		Places: []queue.Place{place(l.full, znode.Read)},
		Data:   says,
		ACL:    w.terms.acl,
	}
	type result struct {
		e   *queue.Entry
		err error
	}
	done := make(chan result)
	call, stop := l.s.during(w.call)
	defer stop()
	l.ref()
	go func() {
		defer l.leave()
		var r result
		if r.err = t.e.Learn(); r.err == nil {
			r.e = queue.New(l.s.conn, order)
			l.s.track(r.e)
			r.err = r.e.StandBeside(call, t.e)
		}
		if r.err != nil && r.e != nil {
			l.drop(r.e)
		}
		select {
		case done <- r:
		case <-call.Done(): // nobody takes it
			if r.err == nil {
				l.drop(r.e)
			}
		}
	}()
	select {
	case r := <-done:
		*made = r.e
		return r.err
	case <-call.Done():
		return ctxErr(call)
	}
}

// drop deletes an entry that nobody wants, in the background. Its caller is counted
// in: the lock may not leave the table before drop is.
func (l *lock) drop(e *queue.Entry) {
	l.s.stats.cleanup.Add(1)
	l.ref()
	go func() {
		defer l.leave()
		_ = l.s.remove(e)
	}()
}

// runlock ends one level of a shared tenure, whoever took it, unless o is an
// owner and not its own. Levels of tenures that are lost are paid first: what is
// left is what is held. Nobody pays for an owner while there are others.
func (l *lock) runlock(ctx context.Context, o Owner) given {
	trace := l.s.leaving(ctx)
	l.mu.Lock()
	t, some := l.levelLocked(o)
	if t == nil {
		held := len(l.reads) > 0
		l.mu.Unlock()
		switch {
		case some:
			return given{err: ErrNotOwner}
		case l.parts != nil && held: // a Multi of read sides
			panic("zksync: Unlock of a lock held by a Hold")
		case l.parts != nil:
			panic("zksync: Unlock of an unlocked lock")
		}
		panic("zksync: RUnlock of a lock that is not locked for reading")
	}
	if t.shared {
		t.pub.leavesLocked(trace)
	}
	return t.endLevel()
}

// levelLocked returns the shared tenure that a runlock for o ends a level of;
// some tells whether there is any.
func (l *lock) levelLocked(o Owner) (found *tenure, some bool) {
	for _, list := range [...][]*tenure{l.debts, l.reads} {
		for _, t := range list {
			if t.plain == 0 {
				continue
			}
			some = true
			switch {
			case t.owner == o:
				return t, true
			case o.IsZero() && found == nil:
				found = t // an owner's, if there is no other
			}
		}
	}
	return found, some
}
