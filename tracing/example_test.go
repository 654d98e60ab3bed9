package tracing_test

import (
	"context"
	"fmt"
	"log"
	"path"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// printer stands for the provider of an SDK: it prints the name of each span that
// ends, and does nothing else.
type printer struct{ noop.TracerProvider }

func (printer) Tracer(string, ...trace.TracerOption) trace.Tracer { return printingTracer{} }

type printingTracer struct{ noop.Tracer }

func (printingTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	span := printingSpan{name: name}
	return trace.ContextWithSpan(ctx, span), span
}

type printingSpan struct {
	noop.Span
	name string
}

func (printingSpan) IsRecording() bool { return true }

func (s printingSpan) End(...trace.SpanEndOption) { fmt.Println(s.name) }

// The spans of a lock that is taken, held and given back. Programs that set the
// global providers need no options.
func ExampleNew() {
	provider := printer{} // that of a program is from its SDK

	srv := zktest.New() // a ZooKeeper for tests
	defer srv.Close()
	ctx := context.Background()
	s, err := zksync.Dial(ctx, []string{srv.Addr()}, zksync.WithTracer(tracing.New(
		tracing.WithTracerProvider(provider),
		tracing.WithLockName(func(a zksync.AcquireInfo) string { return path.Base(a.Path) }),
	)))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	err = zksync.NewMutex(s, "/locks/report").Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
		_, span := provider.Tracer("program").Start(ctx, "work") // within the hold's span
		defer span.End()
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// acquire report
	// work
	// hold report
	// release report
}
