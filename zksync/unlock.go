package zksync

import (
	"context"
	"errors"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// given is a level that was given back, and what is left to do for it: then, and
// after that to wait for rel. Whoever does so is not counted in.
type given struct {
	node  string
	known bool // a loss had been noticed, and logged, before
	err   error
	rel   *release
	then  vacated
}

// unlock ends one level of the present tenure, whoever took it, unless o is an
// owner and not its own.
func (l *lock) unlock(o Owner) given {
	l.mu.Lock()
	t := l.ten
	switch {
	case t == nil:
		l.mu.Unlock()
		panic("zksync: Unlock of an unlocked lock")
	case !o.IsZero() && t.owner != o:
		l.mu.Unlock()
		return given{node: t.e.Node(), err: ErrNotOwner}
	case t.plain == 0:
		l.mu.Unlock()
		panic("zksync: Unlock of a lock held by a Hold")
	}
	return t.endLevel()
}

// endLevel ends a level that was taken without a handle. It is called with
// lock.mu held, which it unlocks.
func (t *tenure) endLevel() given {
	defer t.l.mu.Unlock()
	g := given{node: t.e.Node(), known: true, err: t.lost}
	t.plain--
	if t.plain > 0 || len(t.holds) > 0 {
		return g
	}
	g.known = t.lost != nil
	g.rel, g.then = t.vacateLocked(false)
	return g
}

// undo gives back what a call was granted that ends with an error.
func (l *lock) undo(w *waiter) {
	t := w.ten
	w.ten = nil
	trace := ""
	if t.shared {
		trace = l.s.leaving(w.ctx)
	}
	l.mu.Lock()
	if t.shared {
		t.pub.leavesLocked(trace)
	}
	if t.over {
		l.mu.Unlock()
		return // lost meanwhile, and free already
	}
	var ended after
	if w.handle != nil {
		ended = w.handle.endLocked(context.Canceled)
		delete(t.holds, w.handle)
	} else {
		t.plain--
	}
	if t.plain > 0 || len(t.holds) > 0 {
		l.mu.Unlock()
		ended.run()
		return
	}
	rel, then := t.vacateLocked(true)
	l.mu.Unlock()
	ended.run()
	then.run()
	if rel != nil {
		brief(rel.done)
	}
}

// reenter adds a level to the tenure of the caller's own owner. It compares the
// clock: an owner must not re-enter a lock whose session may be over, since
// another one may hold it. The first handle on nodes that nobody guards asks the
// quorum as well, since somebody may have deleted them unseen. After a loss the
// error Is ErrLost.
func (l *lock) reenter(w *waiter, t *tenure) error {
	ctx := w.call
	c := l.s.conn
	for confirmed := false; ; {
		l.mu.Lock()
		switch {
		case l.s.closed.Load():
			l.mu.Unlock()
			return ErrClosed
		case t.over:
			l.mu.Unlock()
			return l.acquire(w) // given back meanwhile
		case t.lost != nil:
			defer l.mu.Unlock()
			return t.lost
		}
		alive, guarded := c.Alive(t.e.Session()), t.guard != nil
		if w.hold && !t.exposed {
			t.exposed = true
			l.advanceLocked() // nobody may wait for a hand-over any more
		}
		known := !w.hold || t.e.Fence() != 0
		sure := !w.hold || guarded || confirmed
		if alive && known && sure {
			w.ten = t
			if w.hold {
				w.handle = t.openLocked()
			} else {
				t.plain++
			}
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		switch {
		case alive && !known:
			err := await(ctx, t.e.Learn)
			if err != nil {
				if err := t.judge(ctx, err); err != nil {
					return err
				}
			}
		case guarded:
			// Proven every T/6, and silent for T/2.
			t.lose(t.silence())
		default:
			// Nobody has asked for a while: ask now.
			err := await(ctx, func() error { return c.Prove(t.e.Session(), t.e.Nodes()...) })
			if err := t.judge(ctx, err); err != nil {
				return err
			}
			confirmed = err == nil
		}
	}
}

// judge looks at what a question about the tenure's node came to: the tenure
// ends if it is lost; an error is returned if there is no point in asking
// again.
func (t *tenure) judge(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctxErr(ctx)
	case errors.Is(err, conn.ErrNodeGone), errors.Is(err, conn.ErrSessionOver):
		t.lose(err)
	case errors.Is(err, conn.ErrClosed):
		return t.l.s.mapErr(ctx, err)
	case errors.Is(err, conn.ErrNoContact):
	case conn.Classify(err) == conn.Answered:
		return err
	}
	return nil
}
