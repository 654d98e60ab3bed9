package tracing_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// recorder is as little of an SDK as a link needs. The tests with a real one are
// in the command's module, which may require it.
type recorder struct {
	noop.TracerProvider
	links bool // its spans can have links

	mu    sync.Mutex
	spans []*recorded
}

type recordingTracer struct {
	noop.Tracer
	r *recorder
}

// recorded is a span. noop.Span has AddLink from v1.25.0 of the API on.
type recorded struct {
	noop.Span
	name  string
	sc    trace.SpanContext
	attrs map[attribute.Key]string
	links []trace.Link
}

type linked struct{ *recorded }

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer { return recordingTracer{r: r} }

func (t recordingTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	s := &recorded{name: name, attrs: make(map[attribute.Key]string)}
	t.r.spans = append(t.r.spans, s)
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled}
	binary.BigEndian.PutUint64(c.TraceID[:], uint64(len(t.r.spans)))
	binary.BigEndian.PutUint64(c.SpanID[:], uint64(len(t.r.spans)))
	s.sc = trace.NewSpanContext(c)
	var span trace.Span = s
	if t.r.links {
		span = linked{s}
	}
	return trace.ContextWithSpan(ctx, span), span
}

func (s *recorded) IsRecording() bool              { return true }
func (s *recorded) SpanContext() trace.SpanContext { return s.sc }
func (s linked) AddLink(l trace.Link)              { s.links = append(s.links, l) }

func (s *recorded) SetAttributes(list ...attribute.KeyValue) {
	for _, kv := range list {
		s.attrs[kv.Key] = kv.Value.Emit()
	}
}

// A call that waits tells who is ahead of it, also where its span can have no link.
func TestTheCallAheadIsToldWithAndWithoutLinks(t *testing.T) {
	for _, links := range []bool{true, false} {
		bubble.Test(t, func(t *testing.T) {
			r := &recorder{links: links}
			srv := zktest.Run(t)
			mutex := func(identity string) *zksync.Mutex {
				s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext), zksync.WithLogger(discard),
					zksync.WithIdentity(identity), zksync.WithTracer(tracing.New(tracing.WithTracerProvider(r))))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return zksync.NewMutex(s, "/locks/x")
			}
			first, second := mutex("first"), mutex("second")
			first.Lock()
			time.AfterFunc(time.Second, first.Unlock)
			second.Lock()
			second.Unlock()

			var calls []*recorded
			for _, s := range r.spans {
				if s.name == "zksync acquire" {
					calls = append(calls, s)
				}
			}
			if len(calls) != 2 {
				t.Fatalf("%d calls", len(calls))
			}
			if got := calls[1].attrs["zksync.blocked_by.identity"]; got != "first" {
				t.Errorf("links %v: blocked by %q", links, got)
			}
			ahead := func(l trace.Link) bool { return l.SpanContext.SpanID() == calls[0].sc.SpanID() }
			if there := slices.ContainsFunc(calls[1].links, ahead); there != links {
				t.Errorf("links %v: %v", links, calls[1].links)
			}
		})
	}
}
