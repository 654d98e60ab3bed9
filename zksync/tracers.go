package zksync

import (
	"context"
	"errors"
	"slices"
)

// errJoined is what an End gets of a tracer whose Start was followed by a panic in
// the Start of another tracer.
var errJoined = errors.New("zksync: panic in another tracer's function")

// JoinTracers returns a Tracer that calls all of ts; nil ones are left out, and the
// result is nil if there is no other. Each Start gets the context that the Start
// before it returned. Ends are called in reverse order. If a Start panics, the Ends
// of the tracers before it are called at once. If another function panics, the
// functions of the other tracers are called all the same. Parent returns the first
// text that is not empty.
func JoinTracers(ts ...*Tracer) *Tracer {
	all := slices.DeleteFunc(slices.Clone(ts), func(t *Tracer) bool { return t == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &Tracer{
		AcquireStart: joinStarts(all, func(t *Tracer) startFunc { return t.AcquireStart },
			func(t *Tracer, ctx context.Context, a AcquireInfo) {
				if t.AcquireEnd != nil {
					t.AcquireEnd(ctx, a, AcquireEndInfo{Err: errJoined})
				}
			}),
		Blocked:    join2(pick(all, func(t *Tracer) func(context.Context, Peer) { return t.Blocked })),
		AcquireEnd: join3(reversed(pick(all, func(t *Tracer) func(context.Context, AcquireInfo, AcquireEndInfo) { return t.AcquireEnd }))),
		HoldStart: joinStarts(all, func(t *Tracer) startFunc { return t.HoldStart },
			func(t *Tracer, ctx context.Context, a AcquireInfo) {
				if t.HoldEnd != nil {
					t.HoldEnd(ctx, a, HoldEndInfo{Reason: EndUnlocked}) // which the call does now
				}
			}),
		HoldContext: joinContexts(pick(all, func(t *Tracer) contextFunc { return t.HoldContext })),
		HoldEnd:     join3(reversed(pick(all, func(t *Tracer) func(context.Context, AcquireInfo, HoldEndInfo) { return t.HoldEnd }))),
		ReleaseStart: joinStarts(all, func(t *Tracer) startFunc { return t.ReleaseStart },
			func(t *Tracer, ctx context.Context, a AcquireInfo) {
				if t.ReleaseEnd != nil {
					t.ReleaseEnd(ctx, a, ReleaseEndInfo{Err: errJoined})
				}
			}),
		ReleaseEnd: join3(reversed(pick(all, func(t *Tracer) func(context.Context, AcquireInfo, ReleaseEndInfo) { return t.ReleaseEnd }))),
		Handoff:    join2(pick(all, func(t *Tracer) func(context.Context, AcquireInfo) { return t.Handoff })),
		Session:    join1(pick(all, func(t *Tracer) func(SessionEvent) { return t.Session })),
		Cleanup:    join1(pick(all, func(t *Tracer) func(CleanupEvent) { return t.Cleanup })),
		Parent:     joinParents(pick(all, func(t *Tracer) parentFunc { return t.Parent })),
	}
}

type (
	startFunc   = func(context.Context, AcquireInfo) context.Context
	contextFunc = func(parent, hold context.Context) context.Context
	parentFunc  = func(context.Context) string
)

// function is one of a Tracer's functions.
type function interface {
	startFunc | contextFunc | parentFunc |
		func(context.Context, Peer) | func(context.Context, AcquireInfo) |
		func(context.Context, AcquireInfo, AcquireEndInfo) | func(context.Context, AcquireInfo, HoldEndInfo) |
		func(context.Context, AcquireInfo, ReleaseEndInfo) | func(SessionEvent) | func(CleanupEvent)
}

// pick returns one function of each tracer that has it, in the tracers' order. The
// functions below join what it returns; nil gives nil, because some functions cost
// something even if they do nothing.
func pick[F function](all []*Tracer, of func(*Tracer) F) (fs []F) {
	for _, t := range all {
		if f := of(t); f != nil {
			fs = append(fs, f)
		}
	}
	return fs
}

// reversed reverses fs in place, and returns it.
func reversed[F any](fs []F) []F {
	slices.Reverse(fs)
	return fs
}

// callEach runs call for all of fs in order, even if one panics.
func callEach[F any](fs []F, call func(F)) {
	if len(fs) > 0 {
		defer callEach(fs[1:], call)
		call(fs[0])
	}
}

func join1[A any](fs []func(A)) func(A) {
	if fs == nil {
		return nil
	}
	return func(a A) { callEach(fs, func(f func(A)) { f(a) }) }
}

func join2[A, B any](fs []func(A, B)) func(A, B) {
	if fs == nil {
		return nil
	}
	return func(a A, b B) { callEach(fs, func(f func(A, B)) { f(a, b) }) }
}

func join3[A, B, C any](fs []func(A, B, C)) func(A, B, C) {
	if fs == nil {
		return nil
	}
	return func(a A, b B, c C) { callEach(fs, func(f func(A, B, C)) { f(a, b, c) }) }
}

// joinStarts joins a Start of all tracers. If one panics, or ends its goroutine,
// undo ends what the tracers before it have begun.
func joinStarts(all []*Tracer, of func(*Tracer) startFunc, undo func(*Tracer, context.Context, AcquireInfo)) startFunc {
	if pick(all, of) == nil {
		return nil
	}
	return func(ctx context.Context, a AcquireInfo) context.Context {
		begun := 0
		defer func() {
			if begun < len(all) {
				callEach(reversed(slices.Clone(all[:begun])), func(t *Tracer) { undo(t, ctx, a) })
			}
		}()
		for _, t := range all {
			if start := of(t); start != nil {
				ctx = start(ctx, a)
			}
			begun++
		}
		return ctx
	}
}

func joinContexts(fs []contextFunc) contextFunc {
	if fs == nil {
		return nil
	}
	return func(parent, hold context.Context) context.Context {
		for _, f := range fs {
			parent = f(parent, hold)
		}
		return parent
	}
}

func joinParents(fs []parentFunc) parentFunc {
	if fs == nil {
		return nil
	}
	return func(ctx context.Context) string {
		for _, f := range fs {
			if tp := f(ctx); tp != "" {
				return tp
			}
		}
		return ""
	}
}
