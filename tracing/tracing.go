package tracing

import (
	"context"
	"runtime/debug"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/zksync"
)

const (
	scope  = "github.com/zklocker/go-zksync/tracing"
	module = "github.com/zklocker/go-zksync"
)

// New returns a Tracer for zksync.WithTracer that makes spans and metrics. One Tracer
// is enough for all sessions of a program. The gauges of several Tracers would
// contradict each other, unless each Tracer has different attributes: use
// WithAttributes to tell sessions apart.
//
// The instruments that New creates stay with the MeterProvider for good.
func New(opts ...Option) *zksync.Tracer {
	ad := &adapter{config: newConfig(opts)}
	version := moduleVersion()
	ad.tracer = ad.tracers.Tracer(scope, trace.WithInstrumentationVersion(version))
	ad.sets = newSets(ad.attrs)
	ad.metrics = newMetrics(ad.meters, version, ad.sets)
	t := &zksync.Tracer{
		AcquireStart: ad.acquireStart,
		Blocked:      ad.blocked,
		AcquireEnd:   ad.acquireEnd,
		HoldStart:    ad.holdStart,
		HoldEnd:      ad.holdEnd,
		ReleaseStart: ad.releaseStart,
		ReleaseEnd:   ad.releaseEnd,
		Handoff:      ad.handoff,
		Session:      ad.session,
		Cleanup:      ad.cleanup,
	}
	if !ad.noHolds {
		t.HoldContext = ad.holdContext
	}
	if !ad.noNodeData {
		t.Parent = ad.parent
	}
	return t
}

// moduleVersion returns the version of this module that the program was built with.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
}

// adapter implements a Tracer. Its address, and those of its fields, are the keys of
// its values in contexts, so that adapters don't find each other's values.
type adapter struct {
	config
	tracer trace.Tracer
	*metrics
	sets *sets

	holdKey, releaseKey byte
}

// call is a lock call with its hold and its release. It is the context that
// AcquireStart returns. HoldStart and ReleaseStart return hold and release, which are
// fields to save allocations.
type call struct {
	context.Context // with the span
	ad              *adapter
	parent          context.Context // of the call, and the hold
	span            trace.Span
	set             *set
	place           int          // in line when the wait began
	peer            *zksync.Peer // the last call ahead, if the span records
	linked          trace.SpanContext

	hold    hold
	release release
}

// hold is the context that HoldStart returns.
type hold struct {
	context.Context // with the span, if there is one
	given           context.Context
	c               *call
	span            trace.Span // nil: WithoutHoldSpans
}

// release is the context that ReleaseStart returns.
type release struct {
	context.Context // with the span
	given           context.Context
	c               *call
	span            trace.Span
}

func (c *call) Value(key any) any {
	if key == any(c.ad) {
		return c
	}
	return c.Context.Value(key)
}

// Value also finds the values that other tracers have put in the context.
func (h *hold) Value(key any) any {
	if key == any(&h.c.ad.holdKey) {
		return h
	}
	if v := h.Context.Value(key); v != nil {
		return v
	}
	return h.given.Value(key)
}

func (r *release) Value(key any) any {
	if key == any(&r.c.ad.releaseKey) {
		return r
	}
	if v := r.Context.Value(key); v != nil {
		return v
	}
	return r.given.Value(key)
}

func (ad *adapter) callOf(ctx context.Context) *call {
	c, _ := ctx.Value(ad).(*call)
	return c
}

func (ad *adapter) holdOf(ctx context.Context) *hold {
	h, _ := ctx.Value(&ad.holdKey).(*hold)
	return h
}

// carrier holds the only field that a node has room for.
type carrier struct{ traceparent string }

const field = "traceparent"

func (c *carrier) Get(key string) string {
	if strings.EqualFold(key, field) {
		return c.traceparent
	}
	return ""
}

func (c *carrier) Set(key, value string) {
	if strings.EqualFold(key, field) {
		c.traceparent = value
	}
}

func (c *carrier) Keys() []string { return []string{field} }

// parent returns the traceparent for the call's node. It is empty if the span is not
// sampled: then there is nothing to link to.
func (ad *adapter) parent(ctx context.Context) string {
	if c := ad.callOf(ctx); c != nil {
		ctx = c.Context
	}
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	var to carrier
	ad.propagator.Inject(ctx, &to)
	return to.traceparent
}

// theirs returns the span context of a traceparent from a node.
func (ad *adapter) theirs(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := ad.propagator.Extract(context.Background(), &carrier{traceparent})
	return trace.SpanContextFromContext(ctx)
}
