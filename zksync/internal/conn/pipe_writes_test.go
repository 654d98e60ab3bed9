package conn

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// writes is a dialer of a fake that notes each write. While held, no write ends.
type writes struct {
	f *fake

	mu     sync.Mutex
	frames [][]wire.Op   // of each write after the connect request
	held   chan struct{} // closed when writes may go on; nil: they may
	slow   time.Duration // of each write
}

func (w *writes) config() Config {
	cfg := w.f.config()
	dial := cfg.Dial
	cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &writtenConn{Conn: conn, w: w, closed: make(chan struct{})}, nil
	}
	return cfg
}

// hold keeps all writes waiting until the function that it returns is called.
func (w *writes) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(chan struct{})
	w.held = held
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held = nil
		close(held)
	}
}

// take returns the requests of each write since the last take.
func (w *writes) take() [][]wire.Op {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.frames
	w.frames = nil
	return all
}

type writtenConn struct {
	net.Conn
	w        *writes
	mu       sync.Mutex
	deadline time.Time
	closed   chan struct{}
	once     sync.Once
	greeted  bool
}

func (c *writtenConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *writtenConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *writtenConn) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	held, slow := c.w.held, c.w.slow
	if c.greeted {
		c.w.frames = append(c.w.frames, opsOf(b))
	}
	c.greeted = true
	c.w.mu.Unlock()
	if held != nil {
		c.mu.Lock()
		limit := time.NewTimer(time.Until(c.deadline))
		c.mu.Unlock()
		defer limit.Stop()
		select {
		case <-held:
		case <-c.closed:
			return 0, net.ErrClosed
		case <-limit.C:
			return 0, errors.New("i/o timeout")
		}
	}
	time.Sleep(slow)
	return c.Conn.Write(b)
}

// opsOf returns the kinds of the requests in whole frames.
func opsOf(b []byte) (ops []wire.Op) {
	for r := bytes.NewReader(b); ; {
		frame, err := wire.ReadFrame(r, nil, 1<<20)
		if err != nil {
			return ops
		}
		h, _, _ := wire.ParseRequestHeader(frame[wire.FrameHeader:])
		ops = append(ops, h.Op)
	}
}

// noted opens a connection whose writes are noted.
func noted(t *testing.T, f *fake) (*Conn, *writes) {
	t.Helper()
	w := &writes{f: f}
	c, err := Dial(t.Context(), w.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.end(c) })
	return c, w
}

// A write that takes longer than T/3 ends the connection. What was written or half
// written has an unknown outcome, what still waited for its write was not sent.
func TestWriteIsBounded(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		defer w.hold()()
		start := time.Now()
		first := make(chan error, 1)
		go func() {
			first <- c.DeleteAsync("/a", Wait, func(_ Ran, err error) { first <- err })
		}()
		synctest.Wait()
		// These find that somebody writes.
		results := make(chan Outcome, 2)
		go func() { _, _, err := c.Children("/"); results <- Classify(err) }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := c.Batch()
		create := b.Create([]string{"/x"}, nil, 0, acl)
		b.Send(ctx) // does not wait for the write
		if time.Since(start) != 0 {
			t.Errorf("Send took %v", time.Since(start))
		}
		if err := <-first; Classify(err) != Unknown || time.Since(start) != T/3 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := <-first; err != nil {
			t.Errorf("DeleteAsync: %v", err)
		}
		if o := <-results; o != NotSent {
			t.Errorf("the request that waited: %v", o)
		}
		if <-create.Done(); Classify(create.Err()) != NotSent {
			t.Errorf("the batch that waited: %v", create.Err())
		}
	})
	// Each write is quick enough, but the second one comes too late.
	inBubble(t, "Behind", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		w.mu.Lock()
		w.slow = T / 4
		w.mu.Unlock()
		results := make(chan error, 2)
		result := func(_ Ran, err error) { results <- err }
		go func() { _ = c.DeleteAsync("/a", Wait, result) }()
		synctest.Wait()
		start := time.Now()
		if err := c.DeleteAsync("/b", Wait, result); err != nil || time.Since(start) != T/3 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := <-results; !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("the first: %v", err)
		}
		if err := <-results; Classify(err) != Unknown {
			t.Errorf("the second: %v", err)
		}
		w.mu.Lock()
		w.slow = 0
		w.mu.Unlock()
		time.Sleep(T) // until the slow write has ended
	})
	// The client's deadlines are not those of our writes.
	inBubble(t, "Deadline", func(t *testing.T) {
		f := newFake(T)
		c, _ := noted(t, f)
		fr := c.link.cur
		wc := fr.Conn.(*writtenConn)
		before := wc.deadline
		if _, err := c.Sync("/"); err != nil || wc.deadline == before {
			t.Fatalf("%v, with the deadline %v", err, wc.deadline)
		}
		before = wc.deadline
		if err := fr.SetWriteDeadline(time.Time{}); err != nil || wc.deadline != before {
			t.Errorf("%v, with the deadline %v", err, wc.deadline)
		}
	})
	// A caller writes for others for a short time only.
	inBubble(t, "ForOthers", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		w.mu.Lock()
		w.slow = T / 12
		w.mu.Unlock()
		start := time.Now()
		go func() { time.Sleep(T / 24); go c.Sync("/"); time.Sleep(T / 12); go c.Sync("/") }()
		if err := c.DeleteAsync("/a", Wait, func(Ran, error) {}); err != nil || time.Since(start) != T/12 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		time.Sleep(T)
		w.mu.Lock()
		w.slow = 0
		w.mu.Unlock()
	})
	// The client's own frames wait for their turn, too.
	inBubble(t, "Ping", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		release := w.hold()
		time.Sleep(T/3 + T/4) // a ping hangs
		if st, _ := c.State(); !st.Up {
			t.Fatal("the connection was given up early")
		}
		release()
		time.Sleep(T)
		if n := f.dials(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// Requests that are made while another one is written leave together in the next write.
func TestWritesAreShared(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		zc := c.Zk()
		w.take()
		release := w.hold()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := c.Sync("/"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if _, _, err := zc.Children("/"); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		release()
		wg.Wait()
		if got := w.take(); len(got) != 2 || len(got[0])+len(got[1]) != 21 {
			t.Errorf("writes: %v", got)
		}
		if n := c.pipe.Load().awaited; n != 0 {
			t.Errorf("%d bytes await an answer", n)
		}
	})
}
