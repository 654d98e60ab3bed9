package zksync

import (
	"context"
	"errors"
)

// errJoined is what the tracers that have begun get when one that is joined with
// them panics.
var errJoined = errors.New("zksync: panic in another tracer's function")

// JoinTracers returns a Tracer that calls all of ts, nil ones left out; nil if
// there is none. Each Start gets the context of the one before it, and so on;
// Ends come in reverse order. If a Start panics, the End of those before it
// comes at once; a panic in another function keeps no other from being called.
// Parent is the first text that is not empty.
func JoinTracers(ts ...*Tracer) *Tracer {
	var all joined
	for _, t := range ts {
		if t != nil {
			all = append(all, t)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	// A function that nobody has stays nil: some cost by being there.
	t := &Tracer{}
	for _, o := range all {
		if o.AcquireStart != nil {
			t.AcquireStart = all.acquireStart
		}
		if o.Blocked != nil {
			t.Blocked = all.blocked
		}
		if o.AcquireEnd != nil {
			t.AcquireEnd = all.acquireEnd
		}
		if o.HoldStart != nil {
			t.HoldStart = all.holdStart
		}
		if o.HoldContext != nil {
			t.HoldContext = all.holdContext
		}
		if o.HoldEnd != nil {
			t.HoldEnd = all.holdEnd
		}
		if o.ReleaseStart != nil {
			t.ReleaseStart = all.releaseStart
		}
		if o.ReleaseEnd != nil {
			t.ReleaseEnd = all.releaseEnd
		}
		if o.Handoff != nil {
			t.Handoff = all.handoff
		}
		if o.Session != nil {
			t.Session = all.session
		}
		if o.Cleanup != nil {
			t.Cleanup = all.cleanup
		}
		if o.Parent != nil {
			t.Parent = all.parent
		}
	}
	return t
}

type joined []*Tracer

// each calls f for the tracers from the first on, all of them even if one
// panics.
func (all joined) each(f func(t *Tracer)) {
	if len(all) > 0 {
		defer all[1:].each(f)
		f(all[0])
	}
}

// back is each from the last one on.
func (all joined) back(f func(t *Tracer)) {
	if n := len(all); n > 0 {
		defer all[:n-1].back(f)
		f(all[n-1])
	}
}

// start calls f for one after the other, and undo for those before one that
// panics, or ends its goroutine.
func (all joined) start(ctx context.Context, f func(*Tracer, context.Context) context.Context, undo func(*Tracer, context.Context)) context.Context {
	begun := 0
	defer func() {
		if begun < len(all) {
			all[:begun].back(func(t *Tracer) { undo(t, ctx) })
		}
	}()
	for _, t := range all {
		ctx = f(t, ctx)
		begun++
	}
	return ctx
}

func (all joined) acquireStart(ctx context.Context, a Acquire) context.Context {
	return all.start(ctx, func(t *Tracer, ctx context.Context) context.Context {
		if t.AcquireStart == nil {
			return ctx
		}
		return t.AcquireStart(ctx, a)
	}, func(t *Tracer, ctx context.Context) {
		if t.AcquireEnd != nil {
			t.AcquireEnd(ctx, a, Result{Err: errJoined})
		}
	})
}

func (all joined) blocked(ctx context.Context, p Peer) {
	all.each(func(t *Tracer) {
		if t.Blocked != nil {
			t.Blocked(ctx, p)
		}
	})
}

func (all joined) acquireEnd(ctx context.Context, a Acquire, r Result) {
	all.back(func(t *Tracer) {
		if t.AcquireEnd != nil {
			t.AcquireEnd(ctx, a, r)
		}
	})
}

func (all joined) holdStart(ctx context.Context, a Acquire) context.Context {
	return all.start(ctx, func(t *Tracer, ctx context.Context) context.Context {
		if t.HoldStart == nil {
			return ctx
		}
		return t.HoldStart(ctx, a)
	}, func(t *Tracer, ctx context.Context) {
		if t.HoldEnd != nil {
			t.HoldEnd(ctx, a, Ending{Reason: EndUnlocked}) // which the call does now
		}
	})
}

func (all joined) holdContext(parent, hold context.Context) context.Context {
	for _, t := range all {
		if t.HoldContext != nil {
			parent = t.HoldContext(parent, hold)
		}
	}
	return parent
}

func (all joined) holdEnd(ctx context.Context, a Acquire, e Ending) {
	all.back(func(t *Tracer) {
		if t.HoldEnd != nil {
			t.HoldEnd(ctx, a, e)
		}
	})
}

func (all joined) releaseStart(ctx context.Context, a Acquire) context.Context {
	return all.start(ctx, func(t *Tracer, ctx context.Context) context.Context {
		if t.ReleaseStart == nil {
			return ctx
		}
		return t.ReleaseStart(ctx, a)
	}, func(t *Tracer, ctx context.Context) {
		if t.ReleaseEnd != nil {
			t.ReleaseEnd(ctx, a, errJoined)
		}
	})
}

func (all joined) releaseEnd(ctx context.Context, a Acquire, err error) {
	all.back(func(t *Tracer) {
		if t.ReleaseEnd != nil {
			t.ReleaseEnd(ctx, a, err)
		}
	})
}

func (all joined) handoff(ctx context.Context, a Acquire) {
	all.each(func(t *Tracer) {
		if t.Handoff != nil {
			t.Handoff(ctx, a)
		}
	})
}

func (all joined) session(e SessionEvent) {
	all.each(func(t *Tracer) {
		if t.Session != nil {
			t.Session(e)
		}
	})
}

func (all joined) cleanup(change int) {
	all.each(func(t *Tracer) {
		if t.Cleanup != nil {
			t.Cleanup(change)
		}
	})
}

func (all joined) parent(ctx context.Context) string {
	for _, t := range all {
		if t.Parent != nil {
			if tp := t.Parent(ctx); tp != "" {
				return tp
			}
		}
	}
	return ""
}
