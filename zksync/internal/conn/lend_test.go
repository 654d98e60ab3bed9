package conn

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// The program can send large requests as soon as it has the client, whatever the state
// of the connection. Until then the client's buffer is small.
func TestBufferGrowsForTheProgram(t *testing.T) {
	made := 0
	large := func(zc *zk.Conn) error {
		made++
		_, err := zc.Create(fmt.Sprint("/", made), bytes.Repeat([]byte("x"), 100<<10), 0, acl)
		return err
	}
	inBubble(t, "Connected", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		time.Sleep(T)
		for i := range 3 {
			if err := large(c.Zk()); err != nil {
				t.Error(err)
			}
			synctest.Wait() // a ping may have made the buffer grow before that request was sent
			if n := f.countOf(wire.OpExists); n != 1 {
				t.Errorf("%d requests to grow after %d calls, want 1", n, i+1)
			}
		}
		f.cut()
		time.Sleep(time.Second)
		if err := large(c.Zk()); err != nil {
			t.Errorf("on the next connection: %v", err)
		}
	})
	inBubble(t, "Disconnected", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() { f.refuse = errRefused })
		f.cut()
		time.Sleep(time.Second)
		start := time.Now()
		zc := c.Zk()
		if time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
		result := make(chan error, 1)
		go func() { result <- large(zc) }()
		time.Sleep(time.Second)
		f.do(func() { f.refuse = nil })
		if err := <-result; err != nil {
			t.Error(err)
		}
		if n := f.countOf(wire.OpExists); n != 0 {
			t.Errorf("%d requests to grow, want 0", n)
		}
	})
	// At every moment of a reconnect.
	inBubble(t, "Connecting", func(t *testing.T) {
		for i := range 20 {
			f := newFake(T)
			f.do(func() {
				f.script = func(_ *peer, h wire.RequestHeader) act { return act{delay: 10 * time.Millisecond} }
			})
			c, err := Dial(t.Context(), f.config())
			if err != nil {
				t.Fatal(err)
			}
			f.cut()
			time.Sleep(time.Duration(i) * time.Millisecond)
			if err := large(c.Zk()); err != nil && Classify(err) != Unknown {
				t.Error(err)
			}
			f.end(c)
		}
	})
	inBubble(t, "Closed", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		c.Close(context.Background())
		start := time.Now()
		if c.Zk(); time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
	})
}
