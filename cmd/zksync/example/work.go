package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
)

// work is what each of the processes does: a job that needs a lock, with spans
// that go to out.
func work(ctx context.Context, name string, servers []string, out io.Writer) error {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out))
	if err != nil {
		return err
	}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))

	// All that a program needs: a Tracer for its session.
	tracer := tracing.New(tracing.WithTracerProvider(provider),
		tracing.WithLockName(func(a zksync.AcquireInfo) string { return path.Base(a.Path) }))
	s, err := zksync.Dial(ctx, servers, zksync.WithTracer(tracer), zksync.WithIdentity(name))
	if err != nil {
		return err
	}
	defer s.Close()

	ctx, job := provider.Tracer("example").Start(ctx, "job")
	defer job.End()
	return zksync.NewMutex(s, "/locks/report").Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
		_, work := provider.Tracer("example").Start(ctx, "work") // within the hold's span
		defer work.End()
		fmt.Fprintln(out, ready)
		time.Sleep(time.Second)
		return nil
	})
}
