package tracing

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/zklocker/go-zksync/zksync"
)

// metrics has the instruments, and the values of the gauges.
type metrics struct {
	acquired, holds   metric.Float64Histogram
	position          metric.Int64Histogram
	losses, handoffs  metric.Int64Counter
	disconnects       metric.Int64Counter
	waiting, held     metric.Int64UpDownCounter
	all               *measure // no attributes but those of WithAttributes
	connected, toDrop atomic.Int64
}

// The bounds of the buckets: 1 ms to 300 s, 10 ms to 3600 s, and positions in line.
var (
	acquireBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	holdBuckets     = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	positionBuckets = []float64{0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// must passes an instrument's error to OpenTelemetry's error handler: a lock must not
// fail because a metric can't be made.
func must[T any](instrument T, err error) func(instead T) T {
	if err != nil {
		otel.Handle(err)
	}
	return func(instead T) T {
		if any(instrument) == nil {
			return instead
		}
		return instrument
	}
}

func newMetrics(p metric.MeterProvider, version string, s *sets) *metrics {
	m := p.Meter(scope, metric.WithInstrumentationVersion(version))
	seconds := metric.WithUnit("s")
	ms := &metrics{
		acquired: must(m.Float64Histogram("zksync.lock.acquire.duration", seconds,
			metric.WithDescription("From the call for a lock to its grant or failure."),
			metric.WithExplicitBucketBoundaries(acquireBuckets...)))(noop.Float64Histogram{}),
		holds: must(m.Float64Histogram("zksync.lock.hold.duration", seconds,
			metric.WithDescription("From the grant of a lock to its unlock or loss."),
			metric.WithExplicitBucketBoundaries(holdBuckets...)))(noop.Float64Histogram{}),
		position: must(m.Int64Histogram("zksync.lock.queue.position", metric.WithUnit("{waiter}"),
			metric.WithDescription("Place in line when a wait began, 1 is next; 0 without a wait."),
			metric.WithExplicitBucketBoundaries(positionBuckets...)))(noop.Int64Histogram{}),
		losses: must(m.Int64Counter("zksync.lock.losses", metric.WithUnit("{loss}"),
			metric.WithDescription("Locks lost while they were held.")))(noop.Int64Counter{}),
		handoffs: must(m.Int64Counter("zksync.lock.handoffs", metric.WithUnit("{handoff}"),
			metric.WithDescription("Locks passed on within a session, without the network.")))(noop.Int64Counter{}),
		waiting: must(m.Int64UpDownCounter("zksync.lock.waiting", metric.WithUnit("{call}"),
			metric.WithDescription("Calls that want a lock and have no answer yet.")))(noop.Int64UpDownCounter{}),
		held: must(m.Int64UpDownCounter("zksync.lock.held", metric.WithUnit("{lock}"),
			metric.WithDescription("Locks held.")))(noop.Int64UpDownCounter{}),
		disconnects: must(m.Int64Counter("zksync.session.disconnects", metric.WithUnit("{disconnect}"),
			metric.WithDescription("Connections to ZooKeeper that were lost.")))(noop.Int64Counter{}),
		all: s.measure(""),
	}
	ms.gauges(m, s)
	return ms
}

// gauges registers the instruments whose values are read when metrics are collected.
func (ms *metrics) gauges(m metric.Meter, s *sets) {
	state := must(m.Int64ObservableGauge("zksync.session.connected", metric.WithUnit("{session}"),
		metric.WithDescription("Sessions that are connected to ZooKeeper.")))(noop.Int64ObservableGauge{})
	pending := must(m.Int64ObservableGauge("zksync.cleanup.pending", metric.WithUnit("{node}"),
		metric.WithDescription("Lock nodes whose deletion is not confirmed yet.")))(noop.Int64ObservableGauge{})
	oldest := must(m.Float64ObservableGauge("zksync.lock.hold.oldest_age", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest hold that has not ended, 0 without one.")))(noop.Float64ObservableGauge{})
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(state, ms.connected.Load(), ms.all.observe...)
		o.ObserveInt64(pending, ms.toDrop.Load(), ms.all.observe...)
		s.each(func(set *set) { o.ObserveFloat64(oldest, set.ages.oldest().Seconds(), set.observe...) })
		return nil
	}, state, pending, oldest)
	if err != nil {
		otel.Handle(err)
	}
}

// session and cleanup are called by sessions, which have no context.
func (ms *metrics) session(e zksync.SessionEvent) {
	up, was := e.State == zksync.StateConnected, e.Before == zksync.StateConnected
	switch {
	case up && !was:
		ms.connected.Add(1)
	case !up && was:
		ms.connected.Add(-1)
	}
	if e.State == zksync.StateDisconnected {
		ms.disconnects.Add(context.Background(), 1, ms.all.add...)
	}
}

func (ms *metrics) cleanup(e zksync.CleanupEvent) { ms.toDrop.Add(int64(e.Change)) }

// ages knows when the holds that have not ended began. The zero value is ready.
//
// It is a map and not a list in order of time, because container/list allocates at
// each hold. The oldest hold is searched only when metrics are collected.
type ages struct {
	mu     sync.Mutex
	starts map[*hold]time.Time // guarded by mu
}

func (a *ages) begin(h *hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.starts == nil {
		a.starts = make(map[*hold]time.Time)
	}
	a.starts[h] = time.Now()
}

func (a *ages) end(h *hold) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.starts, h)
}

// oldest returns the age of the oldest hold, or 0 if there is none.
func (a *ages) oldest() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var oldest time.Duration
	for _, start := range a.starts {
		oldest = max(oldest, time.Since(start))
	}
	return oldest
}
