package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
)

// The variables by which a trace goes from one process to another: names and
// values are those of the HTTP headers.
const (
	envTraceParent = "TRACEPARENT"
	envTraceState  = "TRACESTATE"
)

// newSpans returns a tracer that prints each span when it ends, as a line of
// JSON. A span that is asked for by hand is printed whatever the parent says of
// sampling.
func newSpans(out *printer) (*zksync.Tracer, error) {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(spanWriter{out}))
	if err != nil {
		return nil, err
	}
	res, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "zksync")), resource.Environment())
	if err != nil {
		return nil, err
	}
	// Each span is printed by the goroutine that ends it, so that all are out
	// when the session is closed: there is nothing to shut down.
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithResource(res))
	return tracing.New(tracing.WithTracerProvider(provider), tracing.WithMeterProvider(noop.NewMeterProvider())), nil
}

// spanWriter passes what an exporter writes to a printer, which does not wait
// for a slow reader.
type spanWriter struct{ out *printer }

func (w spanWriter) Write(b []byte) (int, error) {
	w.out.send(line{text: string(b)})
	return len(b), nil
}

// traced returns ctx with the trace that the environment names, if it does.
func traced(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": os.Getenv(envTraceParent), "tracestate": os.Getenv(envTraceState),
	})
}

// traceEnv returns env with the span that ctx carries as the parent for whoever
// gets it; nothing is left of another.
func traceEnv(ctx context.Context, env []string) []string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	env = slices.DeleteFunc(env, func(kv string) bool {
		return strings.HasPrefix(kv, envTraceParent+"=") || strings.HasPrefix(kv, envTraceState+"=")
	})
	for _, key := range carrier.Keys() {
		env = append(env, strings.ToUpper(key)+"="+carrier.Get(key))
	}
	return env
}
