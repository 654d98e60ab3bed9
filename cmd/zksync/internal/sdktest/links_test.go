package sdktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.opentelemetry.io/otel/propagation"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
)

// A waiter's span has a link to the span of whoever is ahead, for every kind of
// lock, and says who that is.
func TestLinkToTheBlocker(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				release, err := k.blocker(r.dial(zksync.WithIdentity("the holder")))(context.Background())
				ok(t, err)
				after(time.Second, func() { release(context.Background()) })
				again, err := k.make(r.dial())(context.Background())
				ok(t, err)
				ok(t, again(context.Background()))
				a := r.named("zksync acquire")
				links := a[1].Links()
				if len(links) != 1 || links[0].SpanContext.SpanID() != a[0].SpanContext().SpanID() ||
					links[0].SpanContext.TraceID() != a[0].SpanContext().TraceID() || !links[0].SpanContext.IsRemote() {
					t.Fatalf("links %v, want one to %v", links, a[0].SpanContext())
				}
				wants(t, "link", links[0].Attributes, map[string]string{"zksync.link.relation": "blocked_by", "zksync.blocked_by.identity": "the holder"})
				wants(t, "acquire", a[1].Attributes(), map[string]string{"zksync.blocked_by.identity": "the holder", "zksync.lock.queue.position": "1"})
			})
		})
	}
}

// As the line moves on, the one ahead changes: a link for each. Those who wait
// behind another of their own session have one, too.
func TestLinksOfALine(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var release [3]func(context.Context) error
		for i := range 2 { // the second waits for the first
			m := zksync.NewMutex(r.dial(zksync.WithIdentity("abc"[i:i+1])), lockPath)
			got := make(chan struct{})
			go func() {
				release[i] = m.UnlockContext
				m.Lock()
				close(got)
			}()
			time.Sleep(time.Second)
			if i == 0 {
				<-got
			}
		}
		m := zksync.NewMutex(r.dial(), lockPath)
		for range 2 { // and two for the second
			go func() { m.Lock(); time.Sleep(time.Second); m.Unlock() }()
			time.Sleep(time.Second)
		}
		ok(t, release[0](context.Background()))
		time.Sleep(time.Second)
		ok(t, release[1](context.Background()))
		time.Sleep(time.Minute)
		a := r.named("zksync acquire")
		if len(a) != 4 {
			t.Fatal(len(a))
		}
		for i, want := range []struct {
			links, to int
			place     string
		}{{0, -1, ""}, {1, 0, "1"}, {1, 1, "2"}, {1, 1, "3"}} {
			links := a[i].Links()
			if len(links) != want.links || want.links > 0 && links[0].SpanContext.SpanID() != a[want.to].SpanContext().SpanID() {
				t.Errorf("links of %d: %v", i, links)
			}
			wants(t, "acquire", a[i].Attributes(), map[string]string{"zksync.lock.queue.position": want.place})
		}
	})
}

const (
	good   = `{"v":1,"id":"x","tp":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	traced = `{"v":1,"tp":"`
)

// Invalid data in the node ahead gives no link, no error and no line in a log.
func TestHostilePayloads(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	for name, tt := range map[string]struct {
		data  string
		links int
	}{
		"good":            {good, 1},
		"another version": {strings.Replace(good, "00-0a", "cc-0a", 1), 1}, // Trace Context reads what it knows of it
		"not sampled":     {strings.Replace(good, "-01", "-00", 1), 1},
		"empty":           {"", 0},
		"an address":      {"127.0.0.1", 0},
		"no JSON":         {"\x00\xff{]", 0},
		"big":             {big, 0},
		"big text":        {traced + big + `"}`, 0},
		"deep":            {strings.Repeat("[", 4000), 0},
		"upper case":      {strings.ToUpper(good), 0},
		"zero trace":      {traced + `00-00000000000000000000000000000000-b7ad6b7169203331-01"}`, 0},
		"zero span":       {traced + `00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}`, 0},
		"bad version":     {traced + `ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`, 0},
		"bad flags":       {traced + `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff"}`, 0},
		"tail":            {traced + `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-baggage"}`, 0},
		"lines":           {traced + `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nbaggage: a=b"}`, 0},
		"not a text":      {`{"v":1,"tp":{"tp":1}}`, 0},
		"escapes":         {`{"v":1,"id":"\u001b[2J\u202e` + strings.Repeat("y", 500) + `"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				other := r.dial(zksync.WithTracer(nil))
				c := other.Conn()
				ok(t, zksync.NewMutex(other, lockPath).LockContext(context.Background())) // makes the path
				zksync.NewMutex(other, lockPath).Unlock()
				node, err := c.Create(lockPath+"/_c_00000000-0000-0000-0000-000000000000-lock-", []byte(tt.data),
					zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
				ok(t, err)
				var log bytes.Buffer
				after(time.Second, func() { c.Delete(node, -1) })
				m := zksync.NewMutex(r.dial(zksync.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))), lockPath)
				ok(t, m.LockContext(context.Background()))
				m.Unlock()
				a := r.only("zksync acquire")
				if n := len(a.Links()); n != tt.links {
					t.Errorf("%d links", n)
				}
				wants(t, "acquire", a.Attributes(), map[string]string{"zksync.lock.result": "acquired", "error.type": "", "zksync.blocked_by.node": node})
				for key, value := range attrs(a.Attributes()) {
					if strings.HasPrefix(key, "zksync.blocked_by") && len(value) > 4<<10 || strings.ContainsAny(value, "\x1b\r\n\u202e") {
						t.Errorf("%s is %q", key, value)
					}
				}
				if log.Len() > 0 {
					t.Errorf("logged %s", log.String())
				}
			})
		})
	}
}

// No node says more than it must, whatever the context and the propagator have.
func TestPayload(t *testing.T) {
	long := strings.Repeat(`"\é`, 100)
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	for _, tt := range []struct {
		name string
		opts []tracing.Option
		tp   bool
	}{
		{"default", nil, true},
		{"with baggage", []tracing.Option{tracing.WithPropagator(both)}, true},
		{"only baggage", []tracing.Option{tracing.WithPropagator(propagation.Baggage{})}, false},
		{"without", []tracing.Option{tracing.WithoutTraceparent()}, false},
	} {
		for _, k := range kinds {
			t.Run(tt.name+"/"+k.name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					ctx, _ := baggageOf(t, "secret=zanzibar,other="+strings.Repeat("z", 4000))
					ctx = zksync.WithOwner(ctx, zksync.NewOwner(long))
					ctx, span := r.traces.Tracer("test").Start(ctx, "caller")
					release, err := k.make(r.dial(zksync.WithIdentity(long)))(ctx)
					ok(t, err)
					n := 0
					for _, parent := range r.srv.Children("/locks") {
						for _, node := range r.srv.Children("/locks/" + parent) {
							n++
							data, _, _ := r.srv.Get("/locks/" + parent + "/" + node)
							var p struct{ TP string }
							ok(t, json.Unmarshal(data, &p))
							if len(data) > 512 || bytes.Contains(data, []byte("zz")) || bytes.Contains(data, []byte("zanzibar")) {
								t.Errorf("%d bytes: %s", len(data), data)
							}
							want := ""
							if tt.tp {
								want = "00-" + span.SpanContext().TraceID().String() + "-"
							}
							if !strings.HasPrefix(p.TP, want) || (p.TP != "") != tt.tp {
								t.Errorf("traceparent %q, want %s...", p.TP, want)
							}
						}
					}
					if n == 0 {
						t.Error("no node")
					}
					ok(t, release(context.Background()))
					span.End()
				}, tt.opts...)
			})
		}
	}
}
