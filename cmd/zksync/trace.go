package main

import (
	"context"
	"io"
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

// The environment variables that carry a trace from one process to another. Their
// names and values are those of the HTTP headers.
const (
	envTraceParent = "TRACEPARENT"
	envTraceState  = "TRACESTATE"
)

// newSpans returns a tracer that prints each span to out when the span ends, as a
// line of JSON. It prints spans whose parent was not sampled as well, because the
// user has asked for spans with a flag.
func newSpans(out io.Writer) (*zksync.Tracer, error) {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out))
	if err != nil {
		return nil, err
	}
	res, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "zksync")), resource.Environment())
	if err != nil {
		return nil, err
	}
	// The goroutine that ends a span prints it. So all spans are printed when the
	// session is closed, and there is nothing to shut down.
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithResource(res))
	return tracing.New(tracing.WithTracerProvider(provider), tracing.WithMeterProvider(noop.NewMeterProvider())), nil
}

// traced returns ctx with the trace that the environment names, if it names one.
func traced(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": os.Getenv(envTraceParent), "tracestate": os.Getenv(envTraceState),
	})
}

// traceEnv returns env with the span that ctx carries as the parent, in place of
// the parent that env named before.
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
