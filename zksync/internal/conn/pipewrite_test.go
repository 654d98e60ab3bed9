package conn

import (
	"context"
	"net"
	"testing"
	"time"
)

// hooked calls hook before each write.
type hooked struct {
	net.Conn
	hook func()
}

func (h *hooked) Write(b []byte) (int, error) {
	h.hook()
	return h.Conn.Write(b)
}

// A caller that does not wait for its write does not write what others queue meanwhile,
// because that may block.
func TestSoonWritesNothingForOthers(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		w := &writes{f: f}
		cfg := w.config()
		dial, hook := cfg.Dial, func() {}
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return &hooked{c, func() { hook() }}, err
		}
		c, err := Dial(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer f.end(c)
		n, release := 0, make(chan func(), 1)
		hook = func() {
			switch n++; n {
			case 1: // while the deletion is written, somebody queues much
				done := make(chan struct{})
				go func() {
					defer close(done)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					b := c.Batch()
					b.Create([]string{"/big"}, make([]byte, 100<<10), 0, acl)
					b.Send(ctx)
				}()
				<-done
			case 2: // and the server stops to read
				release <- w.hold()
			}
		}
		start := time.Now()
		result := make(chan error, 1)
		if err := c.DeleteAsync("/none", Soon, func(_ Ran, err error) { result <- err }); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("took %v", d)
		}
		(<-release)()
		<-result
	})
}

// With Later, DeleteAsync does not wait for a write that blocks. What is sent next comes
// behind the deletion all the same.
func TestLaterDoesNotWrite(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		f.do(func() { f.nodes["/a"] = &node{} })
		time.AfterFunc(T/12, w.hold())
		start := time.Now()
		result := make(chan error, 1)
		if err := c.DeleteAsync("/a", Later, func(_ Ran, err error) { result <- err }); err != nil || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := c.Batch()
		k := b.Stat("/a")
		b.Send(ctx)
		if err := <-result; err != nil {
			t.Errorf("deletion: %v", err)
		}
		if err := k.Wait(ctx); err == nil {
			t.Error("the read came before the deletion")
		}
	})
}
