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

// ender ends the contexts of a hold whose parents have one Done channel: with
// them, or with the hold.
type ender struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   func() bool // guarded by Hold.mu; forgets to forget the ender when ctx ends
}

// endWith returns what ends a context with parent and with the hold. There is one
// for each Done channel that has not ended, so that a program may ask for contexts
// without end.
func (h *Hold) endWith(parent context.Context) *ender {
	done := parent.Done()
	h.mu.Lock()
	e, ended := h.ends[done], h.ended
	h.mu.Unlock()
	if e != nil {
		return e
	}
	if done == nil {
		parent = context.Background() // that it has values is nothing to keep
	}
	e = new(ender)
	e.ctx, e.cancel = context.WithCancelCause(parent)
	if ended != nil {
		e.cancel(ended)
		return e
	}
	h.mu.Lock()
	other := h.ends[done]
	if ended = h.ended; ended == nil && other == nil {
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
	stop := context.AfterFunc(e.ctx, func() { // parent's end
		h.mu.Lock()
		delete(h.ends, done)
		h.mu.Unlock()
	})
	h.mu.Lock()
	e.stop = stop
	h.mu.Unlock()
	return e
}

// holdCtx is a context that asks the clock. Its values are those of its parent,
// its end is the ender's: being one of package context's own there, it is followed
// without a goroutine.
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

// Value has package context find the ender, under the key that it answers to with
// itself. Every other key is the parent's, and asked of it once: the ender has a
// parent, too, and to ask both would double the work with each context within
// another. The hold itself finds its contexts, too.
func (c *holdCtx) Value(key any) any {
	switch key {
	case selfKey:
		return c.end.ctx
	case holdKey{c.h}:
		return c
	}
	return c.Context.Value(key)
}

// selfKey is the key to which a context that package context can cancel answers with
// itself. It is not exported, but context.Cause asks for it.
var selfKey = func() any {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // there is a cause to ask for
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
