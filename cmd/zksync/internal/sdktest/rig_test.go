package sdktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// rig is a server in a bubble, and what its sessions are seen by. Time is
// virtual: nothing on the way takes any.
type rig struct {
	t      *testing.T
	srv    *zktest.Server
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
	traces *sdk.TracerProvider
	meters *metric.MeterProvider
	tracer *zksync.Tracer
}

// inBubble runs a test, and checks in the end that each span that was started
// has ended, once.
func inBubble(t *testing.T, f func(t *testing.T, r *rig), opts ...tracing.Option) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t, opts...)
		r.srv = zktest.Run(t)
		f(t, r)
		synctest.Wait()
		r.ended(t)
	})
}

func newRig(t *testing.T, opts ...tracing.Option) *rig {
	r := &rig{t: t, spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	r.traces = sdk.NewTracerProvider(sdk.WithSpanProcessor(r.spans))
	r.meters = metric.NewMeterProvider(metric.WithReader(r.reader))
	r.tracer = tracing.New(append([]tracing.Option{
		tracing.WithTracerProvider(r.traces), tracing.WithMeterProvider(r.meters)}, opts...)...)
	return r
}

func (r *rig) ended(t *testing.T) {
	t.Helper()
	open := make(map[trace.SpanID]string)
	for _, s := range r.spans.Started() {
		open[s.SpanContext().SpanID()] = s.Name()
	}
	for _, s := range r.spans.Ended() {
		if _, ok := open[s.SpanContext().SpanID()]; !ok {
			t.Errorf("%q ended twice", s.Name())
		}
		delete(open, s.SpanContext().SpanID())
	}
	if len(open) > 0 {
		t.Errorf("not ended: %v", open)
	}
}

// dial makes a session that is closed at the end of the test.
func (r *rig) dial(opts ...zksync.DialOption) *zksync.Session {
	r.t.Helper()
	s, err := zksync.Dial(context.Background(), []string{"127.0.0.1"}, append([]zksync.DialOption{
		zksync.WithDialContext(r.srv.DialContext), zksync.WithTracer(r.tracer), zksync.WithLogger(discard)}, opts...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	return s
}

// named returns the spans of a name that have ended, in the order in which they
// began.
func (r *rig) named(name string) (list []sdk.ReadOnlySpan) {
	for _, s := range r.spans.Ended() {
		if s.Name() == name {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b sdk.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	return list
}

// only returns the one span of a name.
func (r *rig) only(name string) sdk.ReadOnlySpan {
	r.t.Helper()
	list := r.named(name)
	if len(list) != 1 {
		r.t.Fatalf("%d spans %q", len(list), name)
	}
	return list[0]
}

// attrs are attributes as text, to compare.
func attrs(list []attribute.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, kv := range list {
		m[string(kv.Key)] = kv.Value.Emit()
	}
	return m
}

// wants checks some attributes; "" is one that must not be there.
func wants(t *testing.T, what string, list []attribute.KeyValue, want map[string]string) {
	t.Helper()
	got := attrs(list)
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %q, want %q", what, key, got[key], value)
		}
	}
}

// points are the values of a metric by their attributes, as text: the sum of a
// counter or histogram, or a gauge's value.
func (r *rig) points(name string) map[string]float64 {
	r.t.Helper()
	synctest.Wait() // what is reported beside the calls
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		r.t.Fatal(err)
	}
	list := make(map[string]float64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				add(list, data.DataPoints, func(p metricdata.DataPoint[int64]) (attribute.Set, float64) { return p.Attributes, float64(p.Value) })
			case metricdata.Gauge[int64]:
				add(list, data.DataPoints, func(p metricdata.DataPoint[int64]) (attribute.Set, float64) { return p.Attributes, float64(p.Value) })
			case metricdata.Gauge[float64]:
				add(list, data.DataPoints, func(p metricdata.DataPoint[float64]) (attribute.Set, float64) { return p.Attributes, p.Value })
			case metricdata.Histogram[int64]:
				add(list, data.DataPoints, func(p metricdata.HistogramDataPoint[int64]) (attribute.Set, float64) {
					return p.Attributes, float64(p.Sum)
				})
			case metricdata.Histogram[float64]:
				add(list, data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) (attribute.Set, float64) { return p.Attributes, p.Sum })
			default:
				r.t.Fatalf("%s is a %T", name, data)
			}
		}
	}
	return list
}

func add[P any](list map[string]float64, points []P, of func(P) (attribute.Set, float64)) {
	for _, p := range points {
		set, value := of(p)
		list[set.Encoded(attribute.DefaultEncoder())] += value
	}
}

// shows checks all points of a metric.
func (r *rig) shows(t *testing.T, name string, want map[string]float64) {
	t.Helper()
	if got := r.points(name); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func async(f func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%v is not %v", err, target)
	}
}

// after runs f in a while.
func after(d time.Duration, f func()) { time.AfterFunc(d, f) }

// kind is a way to hold a lock.
type kind struct {
	name string
	mode zksync.Mode
	make func(s *zksync.Session) taker
}

// taker takes a lock, and returns what gives it back.
type taker func(ctx context.Context) (release func(context.Context) error, err error)

func holding(l zksync.Locker) taker {
	return func(ctx context.Context) (func(context.Context) error, error) {
		h, err := l.Hold(ctx)
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}
}

func plainly(l zksync.Locker) taker {
	return func(ctx context.Context) (func(context.Context) error, error) {
		return l.UnlockContext, l.LockContext(ctx)
	}
}

const lockPath = "/locks/x"

// kinds are the ways to hold.
var kinds = []kind{
	{"Mutex.Hold", zksync.ModeMutex, func(s *zksync.Session) taker { return holding(zksync.NewMutex(s, lockPath)) }},
	{"Mutex.LockContext", zksync.ModeMutex, func(s *zksync.Session) taker { return plainly(zksync.NewMutex(s, lockPath)) }},
	{"RWMutex.Hold", zksync.ModeWrite, func(s *zksync.Session) taker { return holding(zksync.NewRWMutex(s, lockPath)) }},
	{"RWMutex.RLocker", zksync.ModeRead, func(s *zksync.Session) taker { return plainly(zksync.NewRWMutex(s, lockPath).RLocker()) }},
	{"RWMutex.RLocker.Hold", zksync.ModeRead, func(s *zksync.Session) taker { return holding(zksync.NewRWMutex(s, lockPath).RLocker()) }},
	{"Multi.Hold", zksync.ModeMulti, func(s *zksync.Session) taker {
		return holding(zksync.NewMulti(zksync.NewMutex(s, lockPath), zksync.NewMutex(s, "/locks/y")))
	}},
	{"Semaphore.Hold", zksync.ModePermit, func(s *zksync.Session) taker {
		sem := zksync.NewSemaphore(s, "/locks/permits", 1)
		return func(ctx context.Context) (func(context.Context) error, error) {
			h, err := sem.Hold(ctx, 1)
			if err != nil {
				return nil, err
			}
			return h.Release, nil
		}
	}},
	{"Semaphore.Acquire", zksync.ModePermit, func(s *zksync.Session) taker {
		sem := zksync.NewSemaphore(s, "/locks/permits", 1)
		return func(ctx context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { sem.Release(1); return nil }, sem.Acquire(ctx, 1)
		}
	}},
}

// blocker takes what keeps a kind from its lock.
func (k kind) blocker(s *zksync.Session) taker {
	if k.mode == zksync.ModePermit {
		return k.make(s)
	}
	return holding(zksync.NewMutex(s, lockPath))
}
