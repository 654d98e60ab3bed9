package zksync

import "context"

// Context returns a context that ends with parent, and also when the lock is
// lost or released; [context.Cause] then is the error that Err returns: an *Error
// that Is ErrLost and says why, or context.Canceled. It starts no goroutine. Its Err compares the clock
// at each call, so that a process which was stopped for too long sees the loss
// before it does anything else.
//
// A program may call it for each piece of work, even in a hold that lasts for ever:
// the hold keeps data only for each parent that has not ended. Parents that share
// one Done channel, or have none, count as one.
//
// Use the context for the work done under the lock. What the work sends to others
// still needs the fence: no client can know that its last message was in time.
func (h *Hold) Context(parent context.Context) context.Context {
	h.check()
	if f := h.s.cfg.tracer.HoldContext; f != nil {
		parent = f(parent, h.begun.heldContext())
	}
	return &holdCtx{Context: parent, h: h, end: h.endWith(parent)}
}

// ender ends the contexts of a hold whose parents share one Done channel: when the
// parents end, or when the hold ends.
type ender struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // guarded by Hold.mu; cancels the removal of the ender at the end of ctx
}

// endWith returns the ender of contexts of parent. There is one for each Done channel
// that has not ended, so that a program may ask for contexts without end.
func (h *Hold) endWith(parent context.Context) *ender {
	done := parent.Done()
	h.mu.Lock()
	e, ended := h.ends[done], h.ended
	h.mu.Unlock()
	if e != nil {
		return e
	}
	if done == nil {
		parent = context.Background() // which keeps no values alive
	}
	e = new(ender)
	e.ctx, e.cancel = context.WithCancelCause(parent)
	if ended != nil {
		e.cancel(ended)
		return e
	}
	return h.addEnder(done, e)
}

// addEnder adds e and returns it, or returns the ender that another goroutine has added
// for the same Done channel. If the hold has ended, it ends e instead.
func (h *Hold) addEnder(done <-chan struct{}, e *ender) *ender {
	h.mu.Lock()
	other, ended := h.ends[done], h.ended
	if ended == nil && other == nil {
		h.ends[done] = e
	}
	h.mu.Unlock()
	switch {
	case other != nil:
		e.cancel(nil)
		return other
	case ended != nil:
		e.cancel(ended)
		return e
	}
	stop := context.AfterFunc(e.ctx, func() { // the end of the parent
		h.mu.Lock()
		delete(h.ends, done)
		h.mu.Unlock()
	})
	h.mu.Lock()
	e.stop = stop
	h.mu.Unlock()
	return e
}

// holdCtx is a context whose Err compares the clock. It has the values of its parent and
// ends with the ender. The ender's context is one of package context, so that contexts
// derived from a holdCtx need no goroutine.
type holdCtx struct {
	context.Context // the parent
	h               *Hold
	end             *ender
}

func (c *holdCtx) Done() <-chan struct{} { return c.end.ctx.Done() }

func (c *holdCtx) Err() error {
	if err := c.end.ctx.Err(); err != nil {
		return err
	}
	if err := c.h.Err(); err != nil {
		c.end.cancel(err)
	}
	return c.end.ctx.Err()
}

// Value returns the ender's context for selfKey, so that package context finds it. It
// looks up every other key in the parent only: the ender has the same parent, and asking
// both would double the work at each level of nesting. For holdKey and anyHold it returns
// the context itself, so that Release finds the contexts of holds.
func (c *holdCtx) Value(key any) any {
	switch key {
	case selfKey:
		return c.end.ctx
	case holdKey{c.h}, anyHold:
		return c
	}
	return c.Context.Value(key)
}

// selfKey is the key to which a context that package context can cancel answers with
// itself. It is not exported, but context.Cause asks for it.
var selfKey = func() any {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that context.Cause looks for the cause
	spy := keySpy{Context: ctx}
	context.Cause(&spy)
	return spy.key
}()

// keySpy is a context that notes the key it is asked for.
type keySpy struct {
	context.Context
	key any
}

func (s *keySpy) Value(key any) any {
	s.key = key
	return s.Context.Value(key)
}
