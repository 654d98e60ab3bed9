package local

import (
	"context"
	"errors"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// What an owner's calls ask of ZooKeeper that the owner's holder serves.

// gone reports whether an error says that a node or its session does not exist.
func gone(err error) bool {
	return errors.Is(err, conn.ErrNodeGone) || errors.Is(err, conn.ErrSessionOver)
}

// again serves a call whose owner has the holder h.
func (l *Lock) again(c *Call, h *Holder) error {
	switch h.entry(c) {
	case same:
		return l.reenter(c, h)
	case beside:
		return l.downgrade(c, h)
	}
	return ErrDeadlock
}

// comes serves a call that waited when a call of its owner was granted, and needs a
// request to enter: see line.gather.
//
//go:noinline
func (l *Lock) comes(c *Call) error {
	h := c.into
	c.into, c.queued = nil, false
	err := l.again(c, h)
	l.entered(h)
	return err
}

// entered notes that a call has entered a holder which was kept for it, or will not. If
// that has ended meanwhile it is given back.
func (l *Lock) entered(h *Holder) {
	l.mu.Lock()
	if !l.line.entered(h) {
		l.mu.Unlock()
		return
	}
	b := l.vacate(h, true)
	l.finish()
	b.Run(conn.Soon)
	if b.Deletion != nil {
		brief(b.Deletion.done)
	}
}

// accepts records that the call of an owner returns with the lock. If no call of the owner
// has done so before, the owner's calls that can't enter end: those for this lock, and
// those for locks that share a path with it.
//
//go:noinline
func (l *Lock) accepts(c *Call) {
	l.mu.Lock()
	if h := c.holder; !h.accepted && !h.over() {
		l.line.accept(h)
		l.entangles(c.Owner)
	}
	l.finish()
}

// forbid ends the calls of an owner that wait, up to the one with the number upto.
func (l *Lock) forbid(owner string, upto int64) {
	l.mu.Lock()
	l.line.forbid(owner, upto)
	l.finish()
}

// reenter adds a level to the holder of the caller's own owner. It compares the
// clock: an owner must not re-enter a lock whose session may be over, since
// another one may hold it. The first handle on nodes that nobody guards asks the
// quorum as well, since somebody may have deleted them unseen.
func (l *Lock) reenter(c *Call, h *Holder) error {
	e := h.ticket.e
	for confirmed := false; ; {
		l.mu.Lock()
		switch {
		case l.t.closed.Load():
			l.mu.Unlock()
			return ErrRefused
		case h.over():
			l.mu.Unlock()
			return l.Acquire(c) // given back meanwhile
		case h.lost != nil:
			defer l.mu.Unlock()
			return h.lost
		}
		alive, guarded := l.t.Conn.Alive(e.Session()), h.guard != nil
		if c.Want.Handle && !h.ticket.seen {
			h.ticket.seen = true
			l.line.settle() // nobody may wait for a hand-over any more
		}
		known := !c.Want.Handle || e.Fence() != 0
		sure := !c.Want.Handle || guarded || confirmed
		if alive && known && sure {
			l.line.enter(h, c)
			l.finish()
			return nil
		}
		l.finish()
		switch {
		case alive && !known:
			if err := l.judge(c, h, await(c.Ctx, e.ReadFence)); err != nil {
				return err
			}
		case guarded: // proven every T/6, and silent for T/2
			l.lose(h, l.silence(h))
		default: // nobody has asked for a while: ask now
			err := await(c.Ctx, e.Confirm)
			if err := l.judge(c, h, err); err != nil {
				return err
			}
			confirmed = err == nil
		}
	}
}

// silence returns why the session of a holder no longer counts as alive.
func (l *Lock) silence(h *Holder) error {
	if st, _ := l.t.Conn.State(); st.Session != h.ticket.e.Session() {
		return conn.ErrSessionOver
	}
	return conn.ErrNoContact
}

// judge looks at what a question about the holder's node came to: the holder
// ends if it is lost; an error is returned if there is no point in asking
// again.
func (l *Lock) judge(c *Call, h *Holder, err error) error {
	switch {
	case err == nil:
	case c.Ctx.Err() != nil:
		return ErrDone
	case gone(err):
		l.lose(h, err)
	case errors.Is(err, conn.ErrClosed):
		return err
	case errors.Is(err, conn.ErrNoContact):
	case conn.Classify(err) == conn.Answered:
		return err
	}
	return nil
}

// await runs f and returns its result, or ErrDone without waiting for it.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ErrDone
	}
}

// downgrade gives an owner that writes the read lock, too. The read node gets the
// sequence of the write node, so that no writer that waits gets in between. It
// keeps the write's fence: its own zxid would be above that of a writer that
// waits already, and the resource would refuse that writer for ever.
func (l *Lock) downgrade(c *Call, h *Holder) error {
	for {
		l.mu.Lock()
		lost, over := h.lost, h.over()
		l.mu.Unlock()
		switch {
		case over:
			return l.Acquire(c)
		case lost != nil:
			return lost
		}
		e, err := l.beside(c, h.ticket.e)
		if err != nil {
			if err := l.judge(c, h, err); err != nil {
				return err
			}
			continue
		}
		l.mu.Lock()
		if h.over() || h.lost != nil {
			l.mu.Unlock()
			l.drop(e)
			continue
		}
		// A writer that waited for a hand-over has to stand in line then.
		l.line.downgrade(&Ticket{kind: Read, e: e}, c)
		l.finish()
		return nil
	}
}

// beside makes a read node beside a write node, and forgets it if the call ends first.
func (l *Lock) beside(c *Call, write *queue.Entry) (*queue.Entry, error) {
	_, says := l.payload(c, true) // nobody else will be served by it
	order := queue.Order{Places: []queue.Place{place(l.name, Read)}, Data: says, ACL: c.Terms.ACL}
	type result struct {
		e   *queue.Entry
		err error
	}
	done := make(chan result)
	call, stop := l.t.During(c.Ctx)
	defer stop()
	l.ref(1)
	go func() {
		defer l.Leave()
		var r result
		if r.err = write.ReadFence(); r.err == nil {
			r.e = queue.New(l.t.Conn, order)
			l.t.track(r.e)
			r.err = r.e.StandBeside(call, write)
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
		return r.e, r.err
	case <-call.Done():
		if c.Ctx.Err() == nil {
			return nil, conn.ErrClosed
		}
		return nil, ErrDone
	}
}

// drop deletes an entry that nobody wants, in the background. Its caller is counted
// in: the lock may not leave the table before drop is.
func (l *Lock) drop(e *queue.Entry) {
	l.t.expect()
	l.ref(1)
	go func() {
		defer l.Leave()
		_ = l.t.remove(e, nil)
	}()
}
