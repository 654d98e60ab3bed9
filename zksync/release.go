package zksync

import (
	"context"
	"errors"
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
// Release ends such a ctx itself, which does not count. The wait then ends with the
// parent given to Context, with the deadline of ctx, and after a third of the session
// timeout: then the error Is context.DeadlineExceeded.
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
	ctx, cancel := h.patience(ctx, h.released)
	defer cancel()
	select {
	case <-h.released:
		return h.result
	case <-ctx.Done():
		return h.named("release", ctxErr(ctx))
	}
}

func (h *Hold) release(ctx context.Context) error {
	ended := ctx.Err() != nil
	b, err := h.h.Release()
	if err != nil {
		return err
	}
	b.Run()
	if !ended && b.Deletion != nil {
		var cancel context.CancelFunc
		ctx, cancel = h.patience(ctx, b.Deletion.Done())
		defer cancel()
	}
	return h.s.wait(ctx, b)
}

// patience returns what bounds a wait for done that ctx was given for. For a ctx that
// was derived from one of the hold's contexts the end of the hold is not the end of the
// wait: that ends with what those contexts were derived from, with the deadline of ctx,
// and after a third of the session timeout.
func (h *Hold) patience(ctx context.Context, done <-chan struct{}) (context.Context, context.CancelFunc) {
	outside := h.outside(ctx)
	if outside == nil {
		return ctx, func() {}
	}
	limit, cancel := context.WithTimeout(outside, h.s.Timeout()/3)
	last, _ := limit.Deadline()
	if d, ok := ctx.Deadline(); ok && d.Before(last) { // else it is that of outside, which has its own cause
		var stop context.CancelFunc
		limit, stop = context.WithDeadline(limit, d)
		cancel = both(stop, cancel)
	}
	select { // ctx has ended with the hold, unless the program has detached it
	case <-done:
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		cancel()
		return ctx, func() {}
	}
	return limit, cancel
}

func both(f, g func()) func() { return func() { f(); g() } }

// outside returns what the outermost of the hold's contexts within ctx was derived
// from; nil if there is none.
func (h *Hold) outside(ctx context.Context) (outside context.Context) {
	for {
		c, ok := ctx.Value(holdKey{h}).(*holdCtx)
		if !ok {
			return outside
		}
		ctx, outside = c.Context, c.Context
	}
}

// holdKey is the key to which a context of a hold answers with itself.
type holdKey struct{ h *Hold }
