package tracing

import (
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Option changes what New returns. A later one wins. Without options the global
// providers are used, also when they are set later, and W3C Trace Context.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator
	name       func(path string) string
	noHolds    bool
	noNodeData bool
	attrs      []attribute.KeyValue
}

func newConfig(opts []Option) config {
	c := config{
		tracers:    otel.GetTracerProvider(),
		meters:     otel.GetMeterProvider(),
		propagator: propagation.TraceContext{},
	}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	return c
}

// WithTracerProvider makes the spans with p. The default, and what nil means,
// is the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return optionFunc(func(c *config) {
		if c.tracers = p; p == nil {
			c.tracers = otel.GetTracerProvider()
		}
	})
}

// WithMeterProvider makes the metrics with p. The default, and what nil means,
// is the global provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c *config) {
		if c.meters = p; p == nil {
			c.meters = otel.GetMeterProvider()
		}
	})
}

// WithPropagator writes and reads the traceparent of lock nodes with p. Only the
// field "traceparent" is ever used: nothing else of p, no tracestate and no
// baggage, comes to a node. The default, and what nil means, is
// propagation.TraceContext.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return optionFunc(func(c *config) {
		if c.propagator = p; p == nil {
			c.propagator = propagation.TraceContext{}
		}
	})
}

// WithLockName gives locks a name, of few: it is part of the spans' names and
// an attribute of spans and metrics. fn gets the path as the program named it,
// of a Multi all of them with commas between, and is called by several
// goroutines at once; "" is no name. It may cut the id off "/orders/4711", say.
//
// The metrics tell the first 1000 names apart, and call the others "_OTHER". The
// default, and what nil means, is no name.
func WithLockName(fn func(path string) string) Option {
	return optionFunc(func(c *config) { c.name = fn })
}

// WithoutHoldSpans leaves the spans of holds out, which may be long. The work
// under a lock then nests in the caller's span, and so does the release. Metrics
// stay as they are.
func WithoutHoldSpans() Option { return optionFunc(func(c *config) { c.noHolds = true }) }

// WithoutNodeData publishes no traceparent in lock nodes. Whoever waits for this
// process then finds no span to link to; links to others stay as they are. What
// else a node says is zksync.WithoutNodeInfo's to leave out.
func WithoutNodeData() Option { return optionFunc(func(c *config) { c.noNodeData = true }) }

// WithAttributes adds attributes to every span and every metric. Given several
// times, all count.
func WithAttributes(attrs ...attribute.KeyValue) Option {
	attrs = slices.Clone(attrs)
	return optionFunc(func(c *config) { c.attrs = append(c.attrs, attrs...) })
}
