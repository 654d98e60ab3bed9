package tracing

import (
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/zksync"
)

// Option changes what New returns. A later option wins. Without options New uses W3C
// Trace Context and the global providers, even if those are set later.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator
	name       func(zksync.AcquireInfo) string
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

// WithTracerProvider makes the spans with p. The default, and the meaning of nil, is
// the global provider.
func WithTracerProvider(p trace.TracerProvider) Option {
	return optionFunc(func(c *config) {
		if c.tracers = p; p == nil {
			c.tracers = otel.GetTracerProvider()
		}
	})
}

// WithMeterProvider makes the metrics with p. The default, and the meaning of nil, is
// the global provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c *config) {
		if c.meters = p; p == nil {
			c.meters = otel.GetMeterProvider()
		}
	})
}

// WithPropagator writes and reads the traceparent of lock nodes with p. Only the
// field "traceparent" is used: no other field of p, no tracestate and no baggage is
// written to a node. The default, and the meaning of nil, is
// propagation.TraceContext.
func WithPropagator(p propagation.TextMapPropagator) Option {
	return optionFunc(func(c *config) {
		if c.propagator = p; p == nil {
			c.propagator = propagation.TraceContext{}
		}
	})
}

// WithLockName gives each lock one of a few names. The name is part of the spans'
// names, and an attribute of spans and metrics. fn gets the description of a call. It
// may cut the id off its path "/orders/4711", say. If it returns "", the lock has no
// name. Several goroutines may call fn at once.
//
// The metrics tell the first 200 names apart, and call the others "_OTHER". The
// default, and the meaning of nil, is no name.
func WithLockName(fn func(a zksync.AcquireInfo) string) Option {
	return optionFunc(func(c *config) { c.name = fn })
}

// WithoutHoldSpans leaves out the spans of holds, which may be long. The work under a
// lock then nests in the caller's span, and so does the release. The metrics stay the
// same.
func WithoutHoldSpans() Option { return optionFunc(func(c *config) { c.noHolds = true }) }

// WithoutTraceparent publishes no traceparent in lock nodes. Processes that wait for this
// one then find no span to link to; the links of this process to others stay the same.
// The session's option zksync.WithoutNodeInfo leaves out all of a node's data.
func WithoutTraceparent() Option { return optionFunc(func(c *config) { c.noNodeData = true }) }

// WithAttributes adds attributes to every span and every metric. If it is given
// several times, all attributes count.
func WithAttributes(attrs ...attribute.KeyValue) Option {
	attrs = slices.Clone(attrs)
	return optionFunc(func(c *config) { c.attrs = append(c.attrs, attrs...) })
}
