package sdktest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
)

// A call waits for five seconds, and holds for three. The spans and the metrics show
// exactly that.
func TestDurations(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := zksync.NewMutex(r.dial(), lockPath), zksync.NewMutex(r.dial(), lockPath)
		h, err := first.Hold(context.Background())
		ok(t, err)
		time.Sleep(2 * time.Second)
		after(5*time.Second, func() { h.Release(context.Background()) })
		ok(t, second.Do(context.Background(), func(context.Context, *zksync.Hold) error {
			r.shows(t, "zksync.lock.held", map[string]float64{"zksync.lock.mode=mutex": 1})
			time.Sleep(3 * time.Second)
			r.shows(t, "zksync.lock.hold.oldest_age", map[string]float64{"zksync.lock.mode=mutex": 3})
			return nil
		}))
		for name, want := range map[string][]time.Duration{
			"zksync acquire": {0, 5 * time.Second}, "zksync hold": {7 * time.Second, 3 * time.Second}, "zksync release": {0, 0},
		} {
			list := r.named(name)
			if len(list) != len(want) {
				t.Fatalf("%d spans %q", len(list), name)
			}
			for i, s := range list {
				if d := s.EndTime().Sub(s.StartTime()); d != want[i] {
					t.Errorf("%s took %v, want %v", name, d, want[i])
				}
			}
		}
		r.shows(t, "zksync.lock.acquire.duration", map[string]float64{
			"zksync.lock.contended=false,zksync.lock.mode=mutex,zksync.lock.result=acquired": 0,
			"zksync.lock.contended=true,zksync.lock.mode=mutex,zksync.lock.result=acquired":  5,
		})
		r.shows(t, "zksync.lock.hold.duration", map[string]float64{"zksync.lock.mode=mutex,zksync.lock.release.reason=unlocked": 10})
		r.shows(t, "zksync.lock.queue.position", map[string]float64{"zksync.lock.mode=mutex": 1})
		r.shows(t, "zksync.lock.hold.oldest_age", map[string]float64{"zksync.lock.mode=mutex": 0})
	})
}

// The oldest of several holds counts, and the next oldest when it ends.
func TestOldestHold(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := r.dial()
		var holds []*zksync.Hold
		for i := range 4 {
			h, err := zksync.NewMutex(s, fmt.Sprint("/locks/", i)).Hold(context.Background())
			ok(t, err)
			holds = append(holds, h)
			time.Sleep(time.Second)
		}
		for _, step := range []struct {
			release int
			want    float64
		}{{1, 4}, {0, 2}, {3, 2}, {2, 0}} {
			ok(t, holds[step.release].Release(context.Background()))
			r.shows(t, "zksync.lock.hold.oldest_age", map[string]float64{"zksync.lock.mode=mutex": step.want})
		}
	})
}

// Acquire and hold are children of the caller's span, the release of the hold,
// and the work under the lock nests in the hold.
func TestNesting(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		ctx, caller := r.traces.Tracer("test").Start(context.Background(), "caller")
		ok(t, m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
			_, work := r.traces.Tracer("test").Start(ctx, "work")
			work.End()
			elsewhere, other := r.traces.Tracer("test").Start(context.Background(), "elsewhere")
			_, more := r.traces.Tracer("test").Start(h.Context(elsewhere), "more work")
			more.End()
			other.End()
			return nil
		}))
		caller.End()
		acquire, hold, release := r.only("zksync acquire"), r.only("zksync hold"), r.only("zksync release")
		for _, tt := range []struct {
			child  sdk.ReadOnlySpan
			parent trace.SpanContext
			kind   trace.SpanKind
		}{
			{acquire, caller.SpanContext(), trace.SpanKindClient},
			{hold, caller.SpanContext(), trace.SpanKindInternal},
			{release, hold.SpanContext(), trace.SpanKindClient},
			{r.only("work"), hold.SpanContext(), trace.SpanKindInternal},
			{r.only("more work"), hold.SpanContext(), trace.SpanKindInternal},
		} {
			if tt.child.Parent().SpanID() != tt.parent.SpanID() || tt.child.SpanContext().TraceID() != tt.parent.TraceID() {
				t.Errorf("%s is a child of %v", tt.child.Name(), tt.child.Parent().SpanID())
			}
			if tt.child.SpanKind() != tt.kind {
				t.Errorf("%s is %v", tt.child.Name(), tt.child.SpanKind())
			}
		}
		if links := hold.Links(); len(links) != 1 || !links[0].SpanContext.Equal(acquire.SpanContext()) {
			t.Errorf("links of the hold: %v", links)
		} else {
			wants(t, "link", links[0].Attributes, map[string]string{"zksync.link.relation": "acquired_by"})
		}
		scope := hold.InstrumentationScope()
		if scope.Name != "github.com/zklocker/go-zksync/tracing" || scope.Version == "" {
			t.Errorf("scope %+v", scope)
		}
	})
}

// Lock and Unlock have no context: their spans are roots.
func TestRoots(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		m.Lock()
		m.Unlock()
		synctest.Wait() // until the release is confirmed
		acquire, hold := r.only("zksync acquire"), r.only("zksync hold")
		if acquire.Parent().IsValid() || hold.Parent().IsValid() {
			t.Errorf("parents %v, %v", acquire.Parent(), hold.Parent())
		}
		if id := r.only("zksync release").Parent().SpanID(); id != hold.SpanContext().SpanID() {
			t.Errorf("the release's parent is %v", id)
		}
	})
}

// After a hand-over there is a new hold, without a release before it.
func TestHandoff(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		m.Lock()
		second := async(func() error { return m.LockContext(context.Background()) })
		time.Sleep(time.Second)
		m.Unlock()
		ok(t, <-second)
		m.Unlock()
		synctest.Wait() // until the release is confirmed
		if a, h, rel := len(r.named("zksync acquire")), len(r.named("zksync hold")), len(r.named("zksync release")); a != 2 || h != 2 || rel != 1 {
			t.Errorf("%d acquires, %d holds, %d releases", a, h, rel)
		}
		r.shows(t, "zksync.lock.handoffs", map[string]float64{"zksync.lock.mode=mutex": 1})
		a := r.named("zksync acquire")
		if links := a[1].Links(); len(links) != 1 || !links[0].SpanContext.TraceID().IsValid() || links[0].SpanContext.SpanID() != a[0].SpanContext().SpanID() {
			t.Errorf("links %v", links)
		}
	})
}

func TestOptions(t *testing.T) {
	name := func(a zksync.AcquireInfo) string { return a.Path[len("/locks/"):] }
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		h, err := m.Hold(context.Background())
		ok(t, err)
		ok(t, h.Release(context.Background()))
		for _, s := range []sdk.ReadOnlySpan{r.only("acquire x"), r.only("hold x"), r.only("release x")} {
			wants(t, s.Name(), s.Attributes(), map[string]string{"zksync.lock.name": "x", "zksync.lock.path": lockPath, "zone": "b", "n": "7"})
		}
		wants(t, "acquire", r.only("acquire x").Attributes(), map[string]string{"zksync.lock.node": h.Node(), "zksync.lock.fence": fmt.Sprint(h.Fence())})
		r.shows(t, "zksync.lock.held", map[string]float64{"n=7,zksync.lock.mode=mutex,zksync.lock.name=x,zone=b": 0})
		r.shows(t, "zksync.session.connected", map[string]float64{"n=7,zone=b": 1})
	}, tracing.WithLockName(name), tracing.WithAttributes(attribute.String("zone", "b")), tracing.WithAttributes(attribute.Int("n", 7)))

	// Without the spans of holds the work and the release are the caller's.
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		ctx, caller := r.traces.Tracer("test").Start(context.Background(), "caller")
		ok(t, m.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
			if trace.SpanFromContext(ctx) != caller {
				t.Error("the work is not in the caller's span")
			}
			return nil
		}))
		caller.End()
		release := r.only("zksync release")
		if len(r.named("zksync hold")) != 0 || release.Parent().SpanID() != caller.SpanContext().SpanID() || len(release.Links()) != 1 {
			t.Errorf("%v %v", release.Parent(), release.Links())
		}
		r.shows(t, "zksync.lock.hold.duration", map[string]float64{"zksync.lock.mode=mutex,zksync.lock.release.reason=unlocked": 0})
	}, tracing.WithoutHoldSpans())
}

// The global providers count when they are set, also after New; before, and with
// nil options, everything works and nothing comes of it.
func TestGlobalProviders(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		tracer := tracing.New(nil, tracing.WithTracerProvider(nil), tracing.WithMeterProvider(nil), tracing.WithPropagator(nil), tracing.WithLockName(nil))
		m := zksync.NewMutex(r.dial(zksync.WithTracer(tracer)), lockPath)
		m.Lock()
		m.Unlock()
		otel.SetTracerProvider(r.traces)
		otel.SetMeterProvider(r.meters)
		ctx, _ := baggageOf(t, "a=b")
		ok(t, m.LockContext(ctx))
		m.Unlock()
		r.only("zksync acquire")
		r.only("zksync hold")
		r.shows(t, "zksync.lock.held", map[string]float64{"zksync.lock.mode=mutex": 0})
		r.shows(t, "zksync.session.connected", map[string]float64{"": 1})
	})
}

func baggageOf(t *testing.T, text string) (context.Context, baggage.Baggage) {
	t.Helper()
	b, err := baggage.Parse(text)
	ok(t, err)
	return baggage.ContextWithBaggage(context.Background(), b), b
}

// Sessions come and go: how many of them are connected is a sum.
func TestSessionMetrics(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		a, b := r.dial(), r.dial()
		r.shows(t, "zksync.session.connected", map[string]float64{"": 2})
		r.srv.Refuse()
		r.srv.Disconnect(a.ID())
		time.Sleep(time.Second)
		r.shows(t, "zksync.session.connected", map[string]float64{"": 1})
		r.shows(t, "zksync.session.disconnects", map[string]float64{"": 1})
		r.srv.Accept()
		time.Sleep(time.Minute)
		r.shows(t, "zksync.session.connected", map[string]float64{"": 2})
		a.Close()
		r.shows(t, "zksync.session.connected", map[string]float64{"": 1})
		b.Close()
		r.shows(t, "zksync.session.connected", map[string]float64{"": 0})
	})
}

// Nodes that wait for a confirmed deletion show, and go.
func TestCleanupPending(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := r.dial()
		m := zksync.NewMutex(s, lockPath)
		ok(t, m.LockContext(context.Background()))
		r.srv.Refuse()
		r.srv.Disconnect(s.ID())
		m.Unlock()
		r.shows(t, "zksync.cleanup.pending", map[string]float64{"": 1})
		r.srv.Accept()
		time.Sleep(time.Minute)
		r.shows(t, "zksync.cleanup.pending", map[string]float64{"": 0})
	})
}

// Five thousand paths are one series per combination of the table.
func TestCardinality(t *testing.T) {
	const paths = 2000 // more than the names below
	use := func(t *testing.T, r *rig) {
		s := r.dial()
		for i := range paths {
			m := zksync.NewMutex(s, fmt.Sprintf("/locks/%d", i))
			m.Lock()
			m.Unlock()
		}
	}
	all := []string{"zksync.lock.acquire.duration", "zksync.lock.hold.duration", "zksync.lock.waiting", "zksync.lock.held",
		"zksync.lock.queue.position", "zksync.lock.hold.oldest_age", "zksync.session.connected", "zksync.cleanup.pending"}
	inBubble(t, func(t *testing.T, r *rig) {
		r.traces.UnregisterSpanProcessor(r.spans)
		use(t, r)
		for _, name := range all {
			if n := len(r.points(name)); n != 1 {
				t.Errorf("%s: %d series", name, n)
			}
		}
	})
	// With names there are as many as names, but for those that are too many.
	calls := 0
	name := func(zksync.AcquireInfo) string {
		calls++
		return fmt.Sprint("of ", calls%1500)
	}
	inBubble(t, func(t *testing.T, r *rig) {
		r.traces.UnregisterSpanProcessor(r.spans)
		use(t, r)
		for _, name := range all[:6] {
			if n := len(r.points(name)); n != 201 {
				t.Errorf("%s: %d series", name, n)
			}
		}
	}, tracing.WithLockName(name))
}

// A provider whose instruments can't be had is no reason to fail.
func TestBrokenMeterProvider(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		closed := metric.NewMeterProvider()
		ok(t, closed.Shutdown(context.Background()))
		m := zksync.NewMutex(r.dial(zksync.WithTracer(tracing.New(tracing.WithMeterProvider(closed), tracing.WithTracerProvider(r.traces)))), lockPath)
		m.Lock()
		m.Unlock()
		r.only("zksync hold")
	})
}
