package sdktest_test

import (
	"context"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/zklocker/go-zksync/zksync"
)

// A call that comes after a hand-over waits for the present holder and links to its span,
// not to the ended span of the call that made the node.
func TestLinkAfterAHandOver(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s, other := r.dial(), r.dial()
		m := zksync.NewMutex(s, lockPath)
		m.Lock()
		got := make(chan struct{})
		go func() { m.Lock(); close(got) }()
		time.Sleep(time.Second)
		m.Unlock()
		<-got
		time.Sleep(time.Second)
		after(time.Second, m.Unlock)
		third := zksync.NewMutex(other, lockPath)
		third.Lock()
		third.Unlock()
		time.Sleep(time.Second)
		a := r.named("zksync acquire")
		linksTo(t, a[2], a[1])
	})
}

// A writer that waits behind readers on one node, the first of whom has left.
func TestLinkBehindReadersWhoShare(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s, other := r.dial(), r.dial()
		rw := zksync.NewRWMutex(s, lockPath)
		tracer := r.traces.Tracer("readers")
		var ctx [2]context.Context
		for i := range ctx {
			c, span := tracer.Start(context.Background(), "request")
			defer span.End()
			ctx[i] = c
			ok(t, rw.RLockContext(c))
			time.Sleep(time.Second)
		}
		ok(t, rw.RUnlockContext(ctx[0]))
		time.Sleep(time.Second)
		after(time.Second, func() { rw.RUnlock() })
		w := zksync.NewRWMutex(other, lockPath)
		w.Lock()
		w.Unlock()
		time.Sleep(time.Second)
		a := r.named("zksync acquire")
		linksTo(t, a[2], a[1])
	})
}

// A wait that began before the hand-over has a link for each holder that kept the
// lock.
func TestLinksAsHoldersChange(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s, other := r.dial(), r.dial()
		m := zksync.NewMutex(s, lockPath)
		m.Lock()
		go func() { m.Lock(); time.Sleep(time.Second); m.Unlock() }()
		time.Sleep(time.Second)
		after(time.Second, m.Unlock)
		third := zksync.NewMutex(other, lockPath)
		third.Lock()
		third.Unlock()
		time.Sleep(time.Second)
		a := r.named("zksync acquire")
		if n := len(a[2].Links()); n != 2 {
			t.Fatalf("%d links, want 2", n)
		}
		for i, l := range a[2].Links() {
			if l.SpanContext.SpanID() != a[i].SpanContext().SpanID() {
				t.Errorf("link %d is to %v, want %v", i, l.SpanContext, a[i].SpanContext())
			}
		}
	})
}

func linksTo(t *testing.T, from, to sdk.ReadOnlySpan) {
	t.Helper()
	if l := from.Links(); len(l) != 1 || l[0].SpanContext.SpanID() != to.SpanContext().SpanID() {
		t.Errorf("links %v, want one to %v", l, to.SpanContext())
	}
}
