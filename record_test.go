package zksync_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// recorder is a tracer that keeps account: every Start gets its End exactly
// once, with the context that Start returned.
type recorder struct {
	mu     sync.Mutex
	next   int
	open   map[string]string // span to the call it belongs to
	wrong  []string
	log    []string // "acquire mutex", "end <nil>", ... in order
	peers  []zksync.Peer
	result []zksync.Result
	ends   []zksync.Ending
	events []zksync.SessionEvent
	// fault is called in each function of the tracer, by its name.
	fault func(name string)
}

type spanKey string

func (r *recorder) start(ctx context.Context, kind string) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = make(map[string]string)
	}
	r.next++
	id := fmt.Sprint(kind, " ", r.next)
	r.open[id] = kind
	return context.WithValue(ctx, spanKey(kind), id)
}

func (r *recorder) end(ctx context.Context, kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, _ := ctx.Value(spanKey(kind)).(string)
	if r.open[id] != kind {
		r.wrong = append(r.wrong, fmt.Sprintf("%sEnd for %q, which is not open", kind, id))
	}
	delete(r.open, id)
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) trip(name string) {
	r.mu.Lock()
	f := r.fault
	r.mu.Unlock()
	if f != nil {
		f(name)
	}
}

// on sets what is called in each function.
func (r *recorder) on(f func(name string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = f
}

func (r *recorder) tracer() *zksync.Tracer {
	return &zksync.Tracer{
		AcquireStart: func(ctx context.Context, a zksync.Acquire) context.Context {
			r.trip("AcquireStart")
			return r.start(ctx, "Acquire")
		},
		Blocked: func(ctx context.Context, p zksync.Peer) {
			r.mu.Lock()
			r.peers = append(r.peers, p)
			r.mu.Unlock()
			r.note("blocked")
			r.trip("Blocked")
		},
		AcquireEnd: func(ctx context.Context, a zksync.Acquire, res zksync.Result) {
			r.end(ctx, "Acquire")
			r.mu.Lock()
			r.result = append(r.result, res)
			r.mu.Unlock()
			r.note("acquire end")
			r.trip("AcquireEnd")
		},
		HoldStart: func(ctx context.Context, a zksync.Acquire) context.Context {
			r.trip("HoldStart")
			r.note("hold")
			return r.start(ctx, "Hold")
		},
		HoldContext: func(parent, hold context.Context) context.Context {
			r.trip("HoldContext")
			return context.WithValue(parent, spanKey("Hold"), hold.Value(spanKey("Hold")))
		},
		HoldEnd: func(ctx context.Context, a zksync.Acquire, e zksync.Ending) {
			r.end(ctx, "Hold")
			r.mu.Lock()
			r.ends = append(r.ends, e)
			r.mu.Unlock()
			r.note("hold end")
			r.trip("HoldEnd")
		},
		ReleaseStart: func(ctx context.Context, a zksync.Acquire) context.Context {
			r.trip("ReleaseStart")
			r.note("release")
			return r.start(ctx, "Release")
		},
		ReleaseEnd: func(ctx context.Context, a zksync.Acquire, err error) {
			r.end(ctx, "Release")
			r.trip("ReleaseEnd")
		},
		Handoff: func(ctx context.Context, a zksync.Acquire) {
			r.note("handoff")
			r.trip("Handoff")
		},
		Session: func(e zksync.SessionEvent) {
			r.mu.Lock()
			r.events = append(r.events, e)
			r.mu.Unlock()
			r.trip("Session")
		},
		Cleanup: func(int) { r.trip("Cleanup") },
		Parent: func(ctx context.Context) string {
			r.trip("Parent")
			return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		},
	}
}

// balanced waits until no span is open, and tells what went wrong.
func (r *recorder) balanced(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		r.mu.Lock()
		open, wrong := len(r.open), r.wrong
		left := fmt.Sprint(r.open)
		r.mu.Unlock()
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still open: %s", left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// tells waits until f is true of what was recorded.
func (r *recorder) tells(t testing.TB, what string, f func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return f()
	})
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log, r.peers, r.result, r.ends, r.events = nil, nil, nil, nil, nil
}
