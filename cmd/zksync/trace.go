package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
)

// The environment variables that carry a trace from one process to another. Their
// names and values are those of the HTTP headers.
const (
	envTraceParent = "TRACEPARENT"
	envTraceState  = "TRACESTATE"
)

// exportWithin limits the wait for the last spans to be exported.
const exportWithin = 3 * time.Second

// spans is the flag --trace, and what it asks for. The zero value is without the flag.
type spans struct {
	on     bool
	tracer *zksync.Tracer // nil without the flag, and until start
}

// addFlag adds the flag. what is what the spans are of.
func (s *spans) addFlag(f *pflag.FlagSet, what string) {
	f.BoolVar(&s.on, "trace", false, "print the OpenTelemetry spans of the "+what+" on stderr, as lines of JSON, and export them (OTEL_EXPORTER_OTLP_...)")
}

// start makes the tracer, if the flag is given. The function flush exports the last spans.
func (s *spans) start(out *printer.Printer) (flush func(), err error) {
	if !s.on {
		return func() {}, nil
	}
	if s.tracer, flush, err = newSpans(out); err != nil {
		return nil, exit.Usagef("--trace: %w", err) // of a variable
	}
	return flush, nil
}

// environ returns the environment of a command that runs while h is held. With the flag the
// span of the hold is the parent there.
func (s *spans) environ(lock string, session *zksync.Session, h *zksync.Hold) []string {
	env := os.Environ()
	if s.on {
		env = traceEnv(h.Context(context.Background()), env)
	}
	return describes(env, lock, session, h)
}

// newSpans returns a tracer that prints each span to out when the span ends, as a
// line of JSON, and exports it by OTLP if the environment says where to. It does so with
// spans whose parent was not sampled as well, because the user has asked for spans with a
// flag. The function flush exports the last spans.
func newSpans(out *printer.Printer) (spans *zksync.Tracer, flush func(), err error) {
	printed, err := stdouttrace.New(stdouttrace.WithWriter(out))
	if err != nil {
		return nil, nil, err
	}
	res, err := resource.Merge(resource.NewSchemaless(attribute.String("service.name", "zksync")), resource.Environment())
	if err != nil {
		return nil, nil, err
	}
	// The goroutine that ends a span prints it. So all spans are printed when the
	// session is closed. A collector may be slow: other goroutines export.
	opts := []sdk.TracerProviderOption{sdk.WithSyncer(printed), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithResource(res)}
	exporter, err := newExporter(context.Background())
	if err != nil {
		return nil, nil, err
	}
	if exporter != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { out.Errorf("--trace: %v", err) }))
		opts = append(opts, sdk.WithBatcher(exporter))
	}
	provider := sdk.NewTracerProvider(opts...)
	flush = func() {
		ctx, cancel := context.WithTimeout(context.Background(), exportWithin)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			out.Errorf("--trace: %v", err)
		}
	}
	return tracing.New(tracing.WithTracerProvider(provider), tracing.WithMeterProvider(noop.NewMeterProvider())), flush, nil
}

// newExporter returns the exporter that the standard variables OTEL_EXPORTER_OTLP_... ask
// for, or nil if none of them names an endpoint. The exporter reads the others itself.
func newExporter(ctx context.Context) (sdk.SpanExporter, error) {
	if otlpEnv("ENDPOINT") == "" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	switch protocol := otlpEnv("PROTOCOL"); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is neither http/protobuf nor grpc", protocol)
	}
}

// otlpEnv returns a variable for traces, or else the one for all signals.
func otlpEnv(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
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
