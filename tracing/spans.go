package tracing

import (
	"context"
	"errors"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/zksync"
)

// The attributes of spans, beside those in instruments.go.
const (
	keyPath     = attribute.Key("zksync.lock.path")
	keyPosition = attribute.Key("zksync.lock.queue.position")
	keyNode     = attribute.Key("zksync.lock.node")
	keyFence    = attribute.Key("zksync.lock.fence")
	keyAddress  = attribute.Key("server.address")
	keyPort     = attribute.Key("server.port")
	keyRelation = attribute.Key("zksync.link.relation")
)

// These are made once, because each use would allocate them.
var (
	blockedBy  = keyRelation.String("blocked_by")
	acquiredBy = []attribute.KeyValue{keyRelation.String("acquired_by")}
)

func (ad *adapter) acquireStart(ctx context.Context, a zksync.AcquireInfo) context.Context {
	name := ""
	if ad.name != nil {
		name = ad.name(a)
	}
	set, fresh := ad.sets.of(name, a.Mode)
	if fresh {
		ad.seed(ctx, set)
	}
	c := &call{ad: ad, parent: ctx, set: set}
	start := c.set.acquire
	if a.Try {
		start = c.set.try
	}
	c.Context, c.span = ad.start(ctx, a, start)
	ad.waiting.Add(c, 1, c.set.add...)
	return c
}

// start begins a span. Samplers see its name and kind; only recorded spans get the
// attributes.
func (ad *adapter) start(ctx context.Context, a zksync.AcquireInfo, k spanKind) (context.Context, trace.Span) {
	ctx, span := ad.tracer.Start(ctx, k.name, k.opts...)
	if span.IsRecording() {
		span.SetAttributes(k.attrs...)
		span.SetAttributes(keyPath.String(a.Path))
	}
	return ctx, span
}

func (ad *adapter) blocked(ctx context.Context, p zksync.Peer) {
	c := ad.callOf(ctx)
	if c == nil {
		return
	}
	if c.place == 0 {
		c.place = p.Position
	}
	if !c.span.IsRecording() {
		return
	}
	c.peer = new(zksync.Peer) // p's address would cost an allocation even if the span does not record
	*c.peer = p
	sc := ad.theirs(p.TraceParent)
	if !sc.IsValid() || sc.Equal(c.linked) {
		return
	}
	c.linked = sc
	addLink(c.span, trace.Link{SpanContext: sc, Attributes: append(who(p), blockedBy)})
}

// addLink adds a link to a span that has begun. The spans of an SDK before v1.25.0
// can't have one.
func addLink(s trace.Span, l trace.Link) {
	if s, ok := s.(interface{ AddLink(trace.Link) }); ok {
		s.AddLink(l)
	}
}

// who returns the attributes that describe a peer.
func who(p zksync.Peer) []attribute.KeyValue {
	var list []attribute.KeyValue
	text := func(key attribute.Key, value string) {
		if value != "" {
			list = append(list, key.String(value))
		}
	}
	text("zksync.blocked_by.identity", p.Identity)
	text("zksync.blocked_by.host", p.Host)
	if p.PID != 0 {
		list = append(list, attribute.Int("zksync.blocked_by.pid", p.PID))
	}
	text("zksync.blocked_by.owner", p.OwnerName)
	text("zksync.blocked_by.node", p.Node)
	return list
}

func (ad *adapter) acquireEnd(ctx context.Context, _ zksync.AcquireInfo, r zksync.AcquireEndInfo) {
	c := ad.callOf(ctx)
	if c == nil {
		return
	}
	defer c.span.End()
	o := outcomeOf(r.Err)
	o.contended = r.Contended || c.place > 0
	ad.waiting.Add(c, -1, c.set.add...)
	ad.acquired.Record(c, r.Waited.Seconds(), c.set.outcome(o).record...)
	ad.position.Record(c, int64(c.place), c.set.record...)
	if !c.span.IsRecording() {
		return
	}
	if c.place == 0 {
		c.place = r.Position
	}
	if o.errorType != "" {
		c.span.SetStatus(codes.Error, r.Err.Error())
	}
	c.span.SetAttributes(c.results(o, r)...)
}

// results returns the attributes that describe what came of a call.
func (c *call) results(o outcome, r zksync.AcquireEndInfo) []attribute.KeyValue {
	list := []attribute.KeyValue{keyResult.String(o.result)}
	if o.errorType != "" {
		list = append(list, keyError.String(o.errorType))
	}
	if c.place > 0 {
		list = append(list, keyPosition.Int(c.place))
	}
	if r.Node != "" {
		list = append(list, keyNode.String(r.Node))
	}
	if r.Fence != 0 {
		list = append(list, keyFence.Int64(r.Fence))
	}
	if host, port, err := net.SplitHostPort(r.Server); err == nil {
		list = append(list, keyAddress.String(host))
		if n, err := strconv.Atoi(port); err == nil {
			list = append(list, keyPort.Int(n))
		}
	}
	if c.peer != nil {
		list = append(list, who(*c.peer)...)
	}
	return list
}

// outcomeOf returns the outcome of a call.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return outcome{result: "acquired"}
	case errors.Is(err, zksync.ErrBusy):
		return outcome{result: "busy"}
	case errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		return outcome{result: "canceled"}
	}
	return outcome{result: "error", errorType: errorType(err)}
}

func errorType(err error) string { return (&zksync.Error{Err: err}).ErrorType() }

func (ad *adapter) handoff(ctx context.Context, _ zksync.AcquireInfo) {
	if c := ad.callOf(ctx); c != nil {
		ad.handoffs.Add(c, 1, c.set.add...)
	}
}

func (ad *adapter) holdStart(ctx context.Context, a zksync.AcquireInfo) context.Context {
	c := ad.callOf(ctx)
	if c == nil {
		return ctx
	}
	h := &c.hold
	h.c, h.given, h.Context = c, ctx, c.parent
	if !ad.noHolds {
		h.Context, h.span = ad.start(c.parent, a, c.set.hold)
		if h.span.IsRecording() {
			addLink(h.span, trace.Link{SpanContext: c.span.SpanContext(), Attributes: acquiredBy})
		}
	}
	ad.held.Add(h, 1, c.set.add...)
	c.set.ages.begin(h)
	return h
}

func (ad *adapter) holdContext(parent, held context.Context) context.Context {
	if h := ad.holdOf(held); h != nil {
		return trace.ContextWithSpan(parent, h.span)
	}
	return parent
}

func (ad *adapter) holdEnd(ctx context.Context, _ zksync.AcquireInfo, e zksync.HoldEndInfo) {
	h := ad.holdOf(ctx)
	if h == nil {
		return
	}
	set := h.c.set
	if h.span != nil {
		defer h.span.End()
	}
	set.ages.end(h)
	ad.held.Add(h, -1, set.add...)
	ad.holds.Record(h, e.Held.Seconds(), set.ending(e.Reason).record...)
	if e.Err != nil {
		ad.lost(h, set, e.Reason)
	}
	if h.span != nil && h.span.IsRecording() {
		h.span.SetAttributes(keyReason.String(string(e.Reason)))
		fail(h.span, e.Err)
	}
}

func (ad *adapter) lost(ctx context.Context, s *set, reason zksync.EndReason) {
	ad.losses.Add(ctx, 1, s.loss(reason).add...)
}

// seed makes the counters of losses begin at 0. A counter that begins at 1 shows no
// increase, and a loss may be the only one of its kind.
func (ad *adapter) seed(ctx context.Context, s *set) {
	for _, reason := range [...]zksync.EndReason{zksync.EndSessionExpired, zksync.EndContactLost, zksync.EndNodeDeleted, zksync.EndClosed} {
		ad.losses.Add(ctx, 0, s.loss(reason).add...)
	}
}

// fail marks a span as failed, if err is not nil.
func fail(span trace.Span, err error) {
	if err != nil {
		span.SetAttributes(keyError.String(errorType(err)))
		span.SetStatus(codes.Error, err.Error())
	}
}

func (ad *adapter) releaseStart(ctx context.Context, a zksync.AcquireInfo) context.Context {
	c := ad.callOf(ctx)
	if c == nil {
		return ctx
	}
	// The release is a sibling of the acquire if the hold has no span, and if a
	// reader releases while the first of the readers that share is in HoldStart.
	parent, h := c.parent, ad.holdOf(ctx)
	alone := h == nil || h.span == nil
	if !alone {
		if !h.span.IsRecording() && !h.span.SpanContext().IsSampled() {
			return ctx // its child would not be sampled either
		}
		parent = h.Context
	}
	r := &c.release
	if r.c != nil {
		r = new(release) // a call may release a lock that it got too late, and go on
	}
	r.c, r.given = c, ctx
	r.Context, r.span = ad.start(parent, a, c.set.release)
	if alone && r.span.IsRecording() {
		addLink(r.span, trace.Link{SpanContext: c.span.SpanContext(), Attributes: acquiredBy})
	}
	return r
}

func (ad *adapter) releaseEnd(ctx context.Context, _ zksync.AcquireInfo, e zksync.ReleaseEndInfo) {
	if c := ad.callOf(ctx); c != nil && errors.Is(e.Err, zksync.ErrLost) { // nobody noticed the loss before
		ad.lost(ctx, c.set, zksync.LossReason(e.Err))
	}
	r, _ := ctx.Value(&ad.releaseKey).(*release)
	if r == nil {
		return
	}
	defer r.span.End()
	if r.span.IsRecording() {
		fail(r.span, e.Err)
	}
}
