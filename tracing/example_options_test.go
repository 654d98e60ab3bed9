package tracing_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/metric"
	metrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// printingMeters stands for the provider of an SDK: it prints the names and attributes of
// what the duration histograms get, and does nothing else.
type printingMeters struct{ metrics.MeterProvider }

func (printingMeters) Meter(string, ...metric.MeterOption) metric.Meter { return printingMeter{} }

type printingMeter struct{ metrics.Meter }

func (printingMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return printingHistogram{name: name}, nil
}

type printingHistogram struct {
	metrics.Float64Histogram
	name string
}

func (h printingHistogram) Record(_ context.Context, _ float64, opts ...metric.RecordOption) {
	set := metric.NewRecordConfig(opts).Attributes()
	fmt.Println(h.name, set.Encoded(attribute.DefaultEncoder()))
}

// The metrics of a program with two ensembles: an attribute tells their locks apart.
func ExampleWithAttributes() {
	provider := printingMeters{} // that of a program is from its SDK

	srv := zktest.New() // a ZooKeeper for tests
	defer srv.Close()
	s, err := zksync.Dial(context.Background(), []string{srv.Addr()}, zksync.WithTracer(tracing.New(
		tracing.WithMeterProvider(provider),
		tracing.WithAttributes(attribute.String("ensemble", "east")),
	)))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	mu := zksync.NewMutex(s, "/locks/report")
	mu.Lock()
	mu.Unlock()
	// Output:
	// zksync.lock.acquire.duration ensemble=east,zksync.lock.contended=false,zksync.lock.mode=mutex,zksync.lock.result=acquired
	// zksync.lock.hold.duration ensemble=east,zksync.lock.mode=mutex,zksync.lock.release.reason=unlocked
}

// What others see of a trace. The program's own propagator may be used: baggage never
// gets into a lock's node. WithoutTraceparent keeps the trace out, too.
func ExampleWithPropagator() {
	srv := zktest.New() // a ZooKeeper for tests
	defer srv.Close()
	ours := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

	// A request with a trace and with baggage.
	ctx := ours.Extract(context.Background(), propagation.MapCarrier{
		"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"baggage":     "customer=4711",
	})
	fmt.Println("the program:", trace.SpanContextFromContext(ctx).TraceID(), baggage.FromContext(ctx))

	published := func(opts ...tracing.Option) string {
		s, err := zksync.Dial(ctx, []string{srv.Addr()}, zksync.WithTracer(tracing.New(opts...)))
		if err != nil {
			log.Fatal(err)
		}
		defer s.Close()
		if err := zksync.NewMutex(s, "/locks/report").LockContext(ctx); err != nil {
			log.Fatal(err)
		}
		q, err := s.Inspect(ctx, "/locks/report")
		if err != nil {
			log.Fatal(err)
		}
		return q.Nodes[0].TraceParent
	}
	fmt.Println("the node:", published(tracing.WithPropagator(ours)))
	fmt.Printf("without it: %q\n", published(tracing.WithoutTraceparent()))
	// Output:
	// the program: 0af7651916cd43dd8448eb211c80319c customer=4711
	// the node: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
	// without it: ""
}

// A leader holds its lock for days. Its work has spans of its own, and needs none that
// lasts as long as the hold.
func ExampleWithoutHoldSpans() {
	provider := printer{} // that of a program is from its SDK

	srv := zktest.New() // a ZooKeeper for tests
	defer srv.Close()
	ctx := context.Background()
	s, err := zksync.Dial(ctx, []string{srv.Addr()}, zksync.WithTracer(tracing.New(
		tracing.WithTracerProvider(provider),
		tracing.WithoutHoldSpans(),
	)))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	err = zksync.NewMutex(s, "/leader").Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
		_, span := provider.Tracer("program").Start(ctx, "one round of work")
		defer span.End()
		return ctx.Err()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// zksync acquire
	// one round of work
	// zksync release
}
