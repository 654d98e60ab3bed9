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
// the sessions that it traces have been closed.
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

// note adds a line to Log, and calls add with Mu locked, unless it is nil.
func (r *Recorder) note(line string, add func()) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if add != nil {
		add()
	}
	r.Log = append(r.Log, line)
}

func (r *Recorder) session(e zksync.SessionEvent) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Events = append(r.Events, e)
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

// begins returns a function of the tracer that opens a span and adds a line to Log,
// if there is one.
func (r *Recorder) begins(kind, line string) func(context.Context, zksync.AcquireInfo) context.Context {
	return func(ctx context.Context, _ zksync.AcquireInfo) context.Context {
		r.trip(kind + "Start")
		if line != "" {
			r.note(line, nil)
		}
		return r.start(ctx, kind)
	}
}

// ends ends a span, adds a line to Log, and calls add with Mu locked.
func (r *Recorder) ends(ctx context.Context, kind, line string, add func()) {
	r.end(ctx, kind)
	r.note(line, add)
	r.trip(kind + "End")
}

// Tracer returns a tracer whose functions write to the recorder.
func (r *Recorder) Tracer() *zksync.Tracer {
	return &zksync.Tracer{
		AcquireStart: r.begins("Acquire", ""),
		Blocked: func(_ context.Context, p zksync.Peer) {
			r.note("blocked", func() { r.Peers = append(r.Peers, p) })
			r.trip("Blocked")
		},
		AcquireEnd: func(ctx context.Context, _ zksync.AcquireInfo, res zksync.AcquireEndInfo) {
			r.ends(ctx, "Acquire", "acquire end", func() { r.Results = append(r.Results, res) })
		},
		HoldStart: r.begins("Hold", "hold"),
		HoldContext: func(parent, hold context.Context) context.Context {
			r.trip("HoldContext")
			return context.WithValue(parent, SpanKey("Hold"), hold.Value(SpanKey("Hold")))
		},
		HoldEnd: func(ctx context.Context, _ zksync.AcquireInfo, e zksync.HoldEndInfo) {
			r.ends(ctx, "Hold", "hold end", func() { r.Ends = append(r.Ends, e) })
		},
		ReleaseStart: r.begins("Release", "release"),
		ReleaseEnd: func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.ReleaseEndInfo) {
			r.end(ctx, "Release")
			r.trip("ReleaseEnd")
		},
		Handoff: func(context.Context, zksync.AcquireInfo) {
			r.note("handoff", nil)
			r.trip("Handoff")
		},
		Session: func(e zksync.SessionEvent) {
			r.session(e)
			r.trip("Session")
		},
		Cleanup: func(zksync.CleanupEvent) { r.trip("Cleanup") },
		Parent: func(context.Context) string {
			r.trip("Parent")
			return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		},
	}
}

// Balanced waits until no span is open. It fails the test if a span ended twice or
// stays open.
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

// Tells waits until f, which runs with Mu locked, is true.
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
