package sim

import (
	"context"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// hooks is a tracer that takes its time, and may close its session.
type hooks struct {
	slow   time.Duration
	closes string // the function that closes
	nth    int    // how often it was called before
}

// hookTimes says when functions of a tracer ran for somebody. Guarded by the
// world's mu.
type hookTimes struct {
	running int
	since   time.Time     // how long they have run one after the other
	last    time.Time     // the end of the last one
	sum     time.Duration // of all
}

// begin notes that a function begins.
func (h *hookTimes) begin() {
	now := time.Now()
	if h.running == 0 && !now.Equal(h.last) {
		h.since = now
	}
	h.running++
}

// end notes that one that took so long ends.
func (h *hookTimes) end(took time.Duration) {
	h.running--
	h.last = time.Now()
	h.sum += took
}

// asFar is since when functions have kept the caller from going on.
func (h *hookTimes) asFar() time.Time {
	if now := time.Now(); h.running == 0 && !now.Equal(h.last) {
		return now
	}
	return h.since
}

// ran reports whether any has run since then.
func (h *hookTimes) ran(since time.Time) bool { return h.running > 0 || !h.last.Before(since) }

type workerKey struct{}

// hookTimesOf are those of whoever calls with the ctx: a worker, or somebody of the
// process who has no context.
func (p *process) hookTimesOf(ctx context.Context) *hookTimes {
	if k, ok := ctx.Value(workerKey{}).(*worker); ok {
		return &k.hooked
	}
	return &p.hooked
}

// saidLocked is when the worker learned what its call has just returned: before
// the functions of its tracer that came after that, and without a pause.
func (k *worker) saidLocked() time.Time {
	own, nobodys := k.hooked.asFar(), k.p.hooked.asFar()
	if nobodys.Before(own) {
		return nobodys
	}
	return own
}

// hookSum is how long functions of a tracer have run for the worker.
func (k *worker) hookSum() time.Duration {
	k.p.w.mu.Lock()
	defer k.p.w.mu.Unlock()
	return k.hooked.sum + k.p.hooked.sum
}

// hookNames are the functions that may close a session.
var hookNames = []string{"Session", "AcquireStart", "AcquireEnd", "Blocked", "HoldStart", "HoldEnd",
	"ReleaseStart", "ReleaseEnd", "Handoff", "Cleanup"}

// hook notes that a function of the tracer runs, until the one returned is called.
func (p *process) hook(ctx context.Context) (end func()) {
	w, h, start := p.w, p.hookTimesOf(ctx), time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	h.begin()
	w.hooked.begin()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		h.end(time.Since(start))
		w.hooked.end(time.Since(start))
	}
}

// tracer is that of a process; nil: none.
func (p *process) tracer(l life) *zksync.Tracer {
	if p.w.kind == "inspected" {
		return &zksync.Tracer{Blocked: func(_ context.Context, peer zksync.Peer) { p.w.checkPeer(p, peer) }}
	}
	if l.hooks == nil {
		return nil
	}
	p.slow = l.hooks.slow
	var mu sync.Mutex
	left := l.hooks.nth
	hook := func(ctx context.Context, name string) {
		if ctx != nil {
			defer p.hook(ctx)()
		}
		time.Sleep(p.slow)
		if name != l.hooks.closes || p.s.Load() == nil {
			return
		}
		mu.Lock()
		left--
		now := left < 0
		mu.Unlock()
		if now && !p.closing.Swap(true) {
			p.w.log("%s: its tracer's %s closes the session", p.name, name)
			p.w.hooking.Add(1)
			defer p.w.hooking.Done()
			p.w.mu.Lock()
			p.w.crash = time.Now().Add(closeLimit) // its nodes may stand until then
			p.w.mu.Unlock()
			p.w.log("%s: the Close of its tracer: %v", p.name, p.close())
		}
	}
	start := func(name string) func(context.Context, zksync.AcquireInfo) context.Context {
		return func(ctx context.Context, _ zksync.AcquireInfo) context.Context { hook(ctx, name); return ctx }
	}
	return &zksync.Tracer{
		AcquireStart: start("AcquireStart"),
		Blocked:      func(ctx context.Context, _ zksync.Peer) { hook(ctx, "Blocked") },
		AcquireEnd:   func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.AcquireEndInfo) { hook(ctx, "AcquireEnd") },
		HoldStart:    start("HoldStart"),
		HoldEnd:      func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.HoldEndInfo) { hook(ctx, "HoldEnd") },
		ReleaseStart: start("ReleaseStart"),
		ReleaseEnd:   func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.ReleaseEndInfo) { hook(ctx, "ReleaseEnd") },
		Handoff:      func(ctx context.Context, _ zksync.AcquireInfo) { hook(ctx, "Handoff") },
		Session:      func(zksync.SessionEvent) { hook(nil, "Session") },
		Cleanup:      func(zksync.CleanupEvent) { hook(nil, "Cleanup") },
	}
}
