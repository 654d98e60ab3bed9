package zksync

import (
	"context"
	"errors"
	"reflect"
)

// Release releases the lock, and ends the contexts. Only the first call does so.
// Later calls wait for its result and return the same one; if their own ctx ends
// first, the error is an *Error that Is ctx.Err(), and the first call goes on.
//
// If Release returns nil, the node is gone, and existed until now. Of the levels of
// one owner, only the last one deletes the node. Otherwise the error is an *Error.
// It Is ErrLost if the lock had been lost before. It Is ctx.Err() if ctx ended before
// the deletion was confirmed; the deletion then goes on in the background.
//
// ctx bounds only the wait for the confirmation. It may be derived from the hold's own
// Context, as in
//
//	ctx = h.Context(ctx)
//	defer h.Release(ctx)
//
// Release ends such a ctx itself, which does not count. Nor does it count that another
// hold has ended ctx before, or that ctx ended because the lock was asked back
// (WithCancelOnRevoke). The wait then ends with the parent given to Context, with the
// deadline of ctx, and after a third of the session timeout: then the error Is
// context.DeadlineExceeded. If ctx does not end with the hold (context.WithoutCancel), the
// wait ends with ctx, and after the same time.
func (h *Hold) Release(ctx context.Context) error {
	h.check()
	if h.first.CompareAndSwap(false, true) {
		defer close(h.released) // also when the tracer panics
		if err := h.release(ctx); err != nil {
			h.result = h.named("release", err)
		}
		return h.result
	}
	select {
	case <-h.released:
		return h.result // also if ctx has ended
	default:
	}
	if !endedApart(ctx) {
		var cancel context.CancelFunc
		ctx, cancel = h.patience(ctx, h.released)
		defer cancel()
	}
	select {
	case <-h.released:
		return h.result
	case <-ctx.Done():
		return h.named("release", ctxErr(ctx))
	}
}

func (h *Hold) release(ctx context.Context) error {
	ended := endedApart(ctx)
	b, err := h.h.Release()
	if err != nil {
		return err
	}
	b.Run(pace(ended))
	if !ended && b.Deletion != nil {
		var cancel context.CancelFunc
		ctx, cancel = h.patience(ctx, b.Deletion.Done())
		defer cancel()
	}
	return h.s.wait(ctx, b)
}

// patience returns what bounds a wait for done that ctx was given for. For a ctx that
// was derived from one of the hold's contexts, or that has ended with another hold, the
// end of the hold is not the end of the wait: that ends with what those contexts were
// derived from, with the deadline of ctx, and after a third of the session timeout.
func (h *Hold) patience(ctx context.Context, done <-chan struct{}) (context.Context, context.CancelFunc) {
	own, _ := ctx.Value(holdKey{h}).(*holdCtx)
	outside := h.outside(ctx)
	if outside == nil {
		return ctx, func() {}
	}
	if own != nil {
		select {
		case <-done:
		case <-ctx.Done():
		case <-own.Done():
			own.end.cancel(nil) // returns when what was derived from it has ended, too
		}
	}
	switch err := ctx.Err(); {
	case err == nil: // the program has detached it from the hold
		return context.WithTimeout(ctx, h.s.Timeout()/3)
	case errors.Is(err, context.DeadlineExceeded):
		return ctx, func() {}
	}
	limit, cancel := context.WithTimeout(outside, h.s.Timeout()/3)
	last, _ := limit.Deadline()
	if d, ok := ctx.Deadline(); ok && d.Before(last) { // else it is that of outside, which has its own cause
		var stop context.CancelFunc
		limit, stop = context.WithDeadline(limit, d)
		cancel = both(stop, cancel)
	}
	return limit, cancel
}

func both(f, g func()) func() { return func() { f(); g() } }

// outside returns what the outermost of those contexts within ctx was derived from that
// are the hold's or have ended; nil if there is none.
func (h *Hold) outside(ctx context.Context) (outside context.Context) {
	for c := innermost(ctx); c != nil; c = innermost(c.Context) {
		if c.h == h || c.Err() != nil {
			outside = c.Context
		}
	}
	return outside
}

// endedApart reports whether ctx has ended otherwise than with a hold: by its parent, by
// its deadline, or because the program has cancelled it. To be asked back (ErrRevoked)
// counts as the end of the hold.
func endedApart(ctx context.Context) bool {
	for ctx.Err() != nil {
		c := innermost(ctx)
		if c == nil {
			return true
		}
		if cause := context.Cause(ctx); !errors.Is(cause, ErrRevoked) && !endedAs(c, cause) {
			return true
		}
		ctx = c.Context
	}
	return false
}

// endedAs reports whether c has ended with the cause.
func endedAs(c *holdCtx, cause error) bool {
	return c.Err() != nil && reflect.ValueOf(cause).Comparable() && context.Cause(c) == cause
}

// innermost returns the innermost context of a hold within ctx, or nil.
func innermost(ctx context.Context) *holdCtx {
	c, _ := ctx.Value(anyHold).(*holdCtx)
	return c
}

// holdKey is the key to which a context of a hold answers with itself.
type holdKey struct{ h *Hold }

// anyHold is the key to which every context of a hold answers with itself.
var anyHold = holdKey{}
