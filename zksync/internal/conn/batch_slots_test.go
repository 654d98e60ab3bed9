package conn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// A batch of more requests than may wait for their answers is sent, too.
func TestBatchOfMoreThanMayWait(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		b := c.Batch()
		for range maxOutstanding + 1 {
			b.Delete("/none")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		b.Send(ctx)
		for _, k := range b.calls {
			<-k.Done()
			if Classify(k.Err()) != Answered {
				t.Fatalf("after %v: %v", time.Since(start), k.Err())
			}
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("%d requests took %v", len(b.calls), d)
		}
		if !c.slots.TryAcquire(maxOutstanding) {
			t.Error("slots are missing")
		}
	})
}

// Batches that share a watch keep no slots while its request waits for one.
func TestBatchesThatShareAWatch(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() {
			f.nodes["/w"] = &node{data: "x"}
			f.script = func(_ *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpSync {
					a.delay = time.Second
				}
				return a
			}
		})
		// All slots are taken for a second.
		all := c.Batch()
		all.Sync("/")
		for range maxOutstanding - 1 {
			all.Stat("/none")
		}
		all.Send(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range maxOutstanding {
			go func() {
				b := c.Batch()
				b.Watch("/w")
				b.Send(ctx)
			}()
		}
		synctest.Wait()
		start := time.Now()
		if _, err := c.Watch("/w"); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("the watch is set after %v: %v", time.Since(start), err)
		}
	})
}

// A transaction of no operations is sent like any other.
func TestCheckOfNothing(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		c := newFake(T).open(t)
		if gone, _, err := c.Check(); gone >= 0 || err != nil {
			t.Errorf("%v, %v", gone, err)
		}
	})
}
