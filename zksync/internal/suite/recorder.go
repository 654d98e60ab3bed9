package suite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// Recorder is a tracer that keeps account: every Start gets its End exactly
// once, with the context that Start returned.
type Recorder struct {
	Mu      sync.Mutex
	next    int
	open    map[string]string // span to the call it belongs to
	wrong   []string
	Log     []string // "acquire mutex", "end <nil>", ... in order
	Peers   []zksync.Peer
	Results []zksync.AcquireEndInfo
	Ends    []zksync.HoldEndInfo
	Events  []zksync.SessionEvent
	// fault is called in each function of the tracer, by its name.
	fault func(name string)
}

// NewRecorder returns a recorder that must be balanced at the end of the test, when
// the sessions that it is told of have been closed.
func NewRecorder(t testing.TB) *Recorder {
	r := new(Recorder)
	t.Cleanup(func() {
		if !t.Failed() {
			r.Balanced(t)
		}
	})
	return r
}

// SpanKey is the key of a span's name in the context that a Start returned.
type SpanKey string

func (r *Recorder) start(ctx context.Context, kind string) context.Context {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.open == nil {
		r.open = make(map[string]string)
	}
	r.next++
	id := fmt.Sprint(kind, " ", r.next)
	r.open[id] = kind
	return context.WithValue(ctx, SpanKey(kind), id)
}

func (r *Recorder) end(ctx context.Context, kind string) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	id, _ := ctx.Value(SpanKey(kind)).(string)
	if r.open[id] != kind {
		r.wrong = append(r.wrong, fmt.Sprintf("%sEnd for %q, which is not open", kind, id))
	}
	delete(r.open, id)
}

func (r *Recorder) note(format string, args ...any) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Log = append(r.Log, fmt.Sprintf(format, args...))
}

func (r *Recorder) trip(name string) {
	r.Mu.Lock()
	f := r.fault
	r.Mu.Unlock()
	if f != nil {
		f(name)
	}
}

// On sets what is called in each function.
func (r *Recorder) On(f func(name string)) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.fault = f
}

// Tracer is what the recorder is told through.
func (r *Recorder) Tracer() *zksync.Tracer {
	return &zksync.Tracer{
		AcquireStart: func(ctx context.Context, a zksync.AcquireInfo) context.Context {
			r.trip("AcquireStart")
			return r.start(ctx, "Acquire")
		},
		Blocked: func(ctx context.Context, p zksync.Peer) {
			r.Mu.Lock()
			r.Peers = append(r.Peers, p)
			r.Mu.Unlock()
			r.note("blocked")
			r.trip("Blocked")
		},
		AcquireEnd: func(ctx context.Context, a zksync.AcquireInfo, res zksync.AcquireEndInfo) {
			r.end(ctx, "Acquire")
			r.Mu.Lock()
			r.Results = append(r.Results, res)
			r.Mu.Unlock()
			r.note("acquire end")
			r.trip("AcquireEnd")
		},
		HoldStart: func(ctx context.Context, a zksync.AcquireInfo) context.Context {
			r.trip("HoldStart")
			r.note("hold")
			return r.start(ctx, "Hold")
		},
		HoldContext: func(parent, hold context.Context) context.Context {
			r.trip("HoldContext")
			return context.WithValue(parent, SpanKey("Hold"), hold.Value(SpanKey("Hold")))
		},
		HoldEnd: func(ctx context.Context, a zksync.AcquireInfo, e zksync.HoldEndInfo) {
			r.end(ctx, "Hold")
			r.Mu.Lock()
			r.Ends = append(r.Ends, e)
			r.Mu.Unlock()
			r.note("hold end")
			r.trip("HoldEnd")
		},
		ReleaseStart: func(ctx context.Context, a zksync.AcquireInfo) context.Context {
			r.trip("ReleaseStart")
			r.note("release")
			return r.start(ctx, "Release")
		},
		ReleaseEnd: func(ctx context.Context, a zksync.AcquireInfo, _ zksync.ReleaseEndInfo) {
			r.end(ctx, "Release")
			r.trip("ReleaseEnd")
		},
		Handoff: func(ctx context.Context, a zksync.AcquireInfo) {
			r.note("handoff")
			r.trip("Handoff")
		},
		Session: func(e zksync.SessionEvent) {
			r.Mu.Lock()
			r.Events = append(r.Events, e)
			r.Mu.Unlock()
			r.trip("Session")
		},
		Cleanup: func(zksync.CleanupEvent) { r.trip("Cleanup") },
		Parent: func(ctx context.Context) string {
			r.trip("Parent")
			return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		},
	}
}

// Balanced waits until no span is open, and tells what went wrong.
func (r *Recorder) Balanced(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		r.Mu.Lock()
		open, wrong := len(r.open), r.wrong
		left := fmt.Sprint(r.open)
		r.Mu.Unlock()
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

// Tells waits until f is true of what was recorded.
func (r *Recorder) Tells(t testing.TB, what string, f func() bool) {
	t.Helper()
	Eventually(t, what, func() bool {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		return f()
	})
}

// Reset forgets what was recorded, open spans apart.
func (r *Recorder) Reset() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Log, r.Peers, r.Results, r.Ends, r.Events = nil, nil, nil, nil, nil
}
