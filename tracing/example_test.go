package tracing_test

import (
	"context"
	"fmt"
	"log"
	"path"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The spans of a lock that is taken, held and given back. Programs that set the
// global providers need no options.
func ExampleNew() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))

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
		time.Sleep(time.Millisecond)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, span := range exporter.GetSpans() { // in the order in which they ended
		fmt.Println(span.Name)
	}
	// Output:
	// acquire report
	// work
	// hold report
	// release report
}
