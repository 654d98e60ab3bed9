package conn

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"
)

// thin is a connection on a slow line. It buffers what is written, as a socket does, and
// sends it at a rate.
type thin struct {
	net.Conn
	out  chan []byte
	done chan struct{}
}

func newThin(c net.Conn, bytesPer int, per time.Duration) *thin {
	t := &thin{Conn: c, out: make(chan []byte, 4096), done: make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-t.out:
				for len(b) > 0 {
					n := min(len(b), 1024)
					select {
					case <-time.After(per * time.Duration(n) / time.Duration(bytesPer)):
					case <-t.done:
						return
					}
					if _, err := c.Write(b[:n]); err != nil {
						return
					}
					b = b[n:]
				}
			case <-t.done:
				return
			}
		}
	}()
	return t
}

func (t *thin) Write(b []byte) (int, error) {
	t.out <- append([]byte(nil), b...)
	return len(b), nil
}

func (t *thin) Close() error {
	select {
	case <-t.done:
	default:
		close(t.done)
	}
	return t.Conn.Close()
}

// A round of probes on a slow line takes longer than T/6, and goes on while answers come. In
// parts that take longer than that themselves, no round would come to its end, and all
// holds would be lost.
func TestRoundOnASlowLine(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		cfg := f.config()
		dial := cfg.Dial
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return newThin(c, 64<<10, T/6), nil
		}
		c, err := Dial(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.end(c) })
		st, _ := c.State()
		l := newLossLog()
		l.c = make(chan error, 10000)
		for i := range 600 { // 128 KiB of checks
			at := fmt.Sprintf("/%0200d", i)
			f.do(func() { f.nodes[at] = &node{} })
			g := c.Guard([]string{at}, st.Session, l.lost)
			t.Cleanup(g.Stop)
		}
		time.Sleep(5 * T)
		l.never(t)
	})
}
