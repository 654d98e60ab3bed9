package conn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
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

// The requests of a batch leave in one write, in their order, and the answers reach their
// calls.
func TestBatch(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		f.do(func() { f.nodes["/q"] = &node{data: "parent", stat: wire.Stat{Czxid: 7}} })
		w.take()
		before := c.Requests()
		b := c.Batch()
		create := b.Create([]string{"/q/x-"}, []byte("d"), zk.FlagEphemeral|zk.FlagSequence, acl)
		names := b.Children("/q")
		watch := b.Watch("/q")
		gone := b.Delete("/none")
		var thens []string
		create.Then(func() { thens = append(thens, "create") })
		gone.Then(func() { thens = append(thens, "delete") })
		b.Send(t.Context())
		for _, k := range b.calls {
			<-k.Done()
		}
		if got := w.take(); len(got) != 1 || !slices.Equal(got[0], []wire.Op{wire.OpCreate, wire.OpGetChildren2, wire.OpGetData, wire.OpDelete}) {
			t.Errorf("writes: %v", got)
		}
		if create.Err() != nil || !slices.Equal(create.Made(), []string{"/q/x-0000000000"}) || create.Ran().Session() != 1 || create.Zxid() == 0 {
			t.Errorf("create: %v, %v, %+v, zxid %d", create.Err(), create.Made(), create.Ran(), create.Zxid())
		}
		if !slices.Equal(names.Names(), []string{"x-0000000000"}) {
			t.Errorf("names: %v", names.Names())
		}
		if wa := watch.Watch(); wa == nil || wa.Stat.Czxid != 7 || string(wa.Data) != "parent" || wa.Epoch != 1 || isDone(wa) {
			t.Errorf("watch: %+v", wa)
		}
		if !errors.Is(gone.Wait(t.Context()), zk.ErrNoNode) {
			t.Errorf("delete: %v", gone.Err())
		}
		if n := c.Requests() - before; n != 4 || !slices.Equal(thens, []string{"create", "delete"}) {
			t.Errorf("%d requests; thens: %v", n, thens)
		}
		// A watch that is set already costs no request.
		b = c.Batch()
		again := b.Watch("/q")
		b.Send(t.Context())
		if err := again.Wait(t.Context()); err != nil || again.Watch() != watch.Watch() || len(w.take()) != 0 {
			t.Errorf("the same watch: %v, %v", again.Watch(), err)
		}
		f.do(func() { f.remove("/q") })
		<-watch.Watch().Done()
		if n := len(c.link.zc.State().String()); n == 0 || channels(c.link.zc) != 0 {
			t.Error("the client has a watch of ours")
		}
	})
}

// A program's client makes the requests of a batch one after the other, and none after
// one without an answer.
func TestBatchOfAProgramsClient(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := c.Batch()
		create := b.Create([]string{"/x", "/y"}, nil, zk.FlagEphemeral, acl)
		watch := b.Watch("/x")
		names := b.Children("/")
		multi := b.Multi(&Container{Path: "/c", Acl: acl})
		del := b.Delete("/x") // ends the watch: the client would set it again, with a data race
		b.Send(t.Context())
		<-del.Done()
		if !slices.Equal(create.Made(), []string{"/x", "/y"}) || watch.Watch() == nil || !slices.Equal(names.Names(), []string{"x", "y"}) {
			t.Errorf("made %v, watch %v, names %v", create.Made(), watch.Watch(), names.Names())
		}
		if !Unimplemented(multi.Err()) || del.Err() != nil {
			t.Errorf("%v, %v", multi.Err(), del.Err())
		}
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) act { return act{silent: true, cut: h.Op == wire.OpDelete} }
		})
		b = c.Batch()
		lost, not := b.Delete("/y"), b.Delete("/none")
		b.Send(t.Context())
		time.Sleep(time.Second)
		f.do(func() { f.script = nil })
		f.cut()
		<-not.Done()
		if Classify(lost.Err()) != Unknown || Classify(not.Err()) != NotSent {
			t.Errorf("%v, %v", lost.Err(), not.Err())
		}
		result := make(chan error, 1)
		if err := c.DeleteAsync("/none", Wait, func(_ Ran, err error) { result <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("DeleteAsync: %v", err)
		}
	})
}

// DeleteAsync returns when the deletion has been written, and the result comes later.
// What is sent after it stands behind it.
func TestDeleteAsync(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		ephemeral(t, c, "/node")
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpDelete {
					a.delay = time.Second
				}
				return a
			}
		})
		w.take()
		start := time.Now()
		var took time.Duration
		result := make(chan error, 1)
		err := c.DeleteAsync("/node", Wait, func(ran Ran, err error) {
			took = time.Since(start)
			if ran.Session() != 1 {
				t.Errorf("ran %+v", ran)
			}
			result <- err
		})
		if err != nil || time.Since(start) != 0 || len(w.take()) != 1 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		names, _, err := c.Children("/")
		if err != nil || len(names) != 0 {
			t.Errorf("the next request sees %v, %v", names, err)
		}
		if err := <-result; err != nil || took != time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		// A second deletion finds no node. Without a connection nothing is sent.
		if c.DeleteAsync("/node", Wait, func(_ Ran, err error) { result <- err }) != nil || !errors.Is(<-result, zk.ErrNoNode) {
			t.Error("no ErrNoNode")
		}
		f.do(func() { f.refuse = errRefused })
		f.cut()
		synctest.Wait()
		if err := c.DeleteAsync("/node", Wait, func(Ran, error) { t.Error("called") }); Classify(err) != NotSent {
			t.Errorf("without a connection: %v", err)
		}
	})
}

// A write that takes longer than T/3 ends the connection. What was written or half
// written has an unknown outcome, what still waited for its write was not sent.
func TestWriteIsBounded(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
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
	bubble(t, "Behind", func(t *testing.T) {
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
	bubble(t, "Deadline", func(t *testing.T) {
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
	bubble(t, "ForOthers", func(t *testing.T) {
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
	bubble(t, "Ping", func(t *testing.T) {
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
	bubble(t, "", func(t *testing.T) {
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

// Two answers in the wrong order end the connection, and neither reaches a call.
func TestAnswersKeepTheirOrder(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		var first int32
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) (a act) {
				switch {
				case p.n > 1:
				case h.Op == wire.OpExists:
					first, a.silent = h.Xid, true
				case h.Op == wire.OpDelete:
					p.out <- frame(header(h.Xid, 0))
					a.raw = frame(header(first, 0), make([]byte, 68))
				}
				return a
			}
		})
		b := c.Batch()
		stat, del := b.Stat("/node"), b.Delete("/node")
		b.Send(t.Context())
		if <-stat.Done(); Classify(stat.Err()) != Unknown {
			t.Errorf("the first: %v", stat.Err())
		}
		if <-del.Done(); Classify(del.Err()) != Unknown {
			t.Errorf("the second: %v", del.Err())
		}
		if st, err := c.Await(t.Context()); err != nil || st.Epoch != 2 || st.Session != 1 {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// The largest zxid of all answers counts for the next connect request, whoever asked.
func TestLastZxidOfAllAnswers(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		seen := func() (seen int64) {
			f.cut()
			time.Sleep(time.Second)
			if _, err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.do(func() { seen = f.peers[len(f.peers)-1].connect.LastZxidSeen })
			return seen
		}
		f.do(func() { f.zxid = 100 })
		ephemeral(t, c, "/node")
		if n := seen(); n != 101 {
			t.Errorf("zxid %d after ours, want 101", n)
		}
		f.do(func() { f.zxid = 200 })
		if _, _, err := c.Zk().Get("/node"); err != nil {
			t.Fatal(err)
		}
		if n := seen(); n != 200 {
			t.Errorf("zxid %d after the client's, want 200", n)
		}
		f.do(func() { f.zxid = 150 }) // as an answer that is older
		if _, _, err := c.Get("/node"); err != nil {
			t.Fatal(err)
		}
		if n := seen(); n != 200 {
			t.Errorf("zxid %d after an older answer, want 200", n)
		}
	})
}

// The credentials that the program has added to the client are answered on a new
// connection before any request of ours. A refused one is not sent again.
func TestCredentialsComeFirst(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		zc := c.Zk()
		if err := zc.AddAuth("digest", []byte("u:p")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for range 2 { // the client repeats it each time
			f.do(func() { f.requests = nil })
			f.cut()
			time.Sleep(time.Second)
			for _, _, err := c.Children("/"); err != nil; _, _, err = c.Children("/") {
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
			f.do(func() {
				var ops []string
				for _, r := range f.requests {
					ops = append(ops, r.op.String())
				}
				if got := strings.Join(ops, " "); got != "auth getChildren2 auth" && got != "auth auth getChildren2" {
					t.Errorf("requests: %s", got)
				}
			})
		}
	})
}

// At most maxOutstanding requests wait for their answers. Send waits for its turn until
// its ctx ends.
func TestBatchWaitsForASlot(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() { f.script = func(_ *peer, h wire.RequestHeader) act { return act{silent: h.Op == wire.OpSync} } })
		for range maxOutstanding / 2 {
			b := c.Batch()
			b.Sync("/")
			b.Sync("/")
			b.Send(t.Context())
		}
		before := c.Requests()
		cause := errors.New("no patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		b := c.Batch()
		late := b.Delete("/x")
		b.Send(ctx)
		if err := late.Wait(t.Context()); Classify(err) != NotSent || !errors.Is(err, cause) || c.Requests() != before {
			t.Errorf("%v, %d requests", err, c.Requests()-before)
		}
		start := time.Now()
		if err := c.DeleteAsync("/x", Wait, nil); Classify(err) != NotSent || time.Since(start) != 0 {
			t.Errorf("DeleteAsync after %v: %v", time.Since(start), err)
		}
		f.do(func() { f.script = nil })
		f.cut() // all are finished, and their slots are free
		time.Sleep(time.Second)
		if err := c.slot(t.Context(), maxOutstanding); err != nil {
			t.Fatal(err)
		}
		c.slots.Release(maxOutstanding)
	})
}

// When a call learns that its connection has ended, the state says so, too. Otherwise a
// caller that tries again would find the same connection.
func TestDownBeforeTheResult(t *testing.T) {
	for name, raw := range map[string]func(xid int32) []byte{
		"Malformed": func(xid int32) []byte { return frame(header(xid, 0), i32(1)) },
		"NotNext":   func(xid int32) []byte { return frame(header(xid-1, 0)) },
		"End":       func(int32) []byte { return frame() },
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFake(T)
			c := f.open(t)
			f.do(func() {
				f.script = func(p *peer, h wire.RequestHeader) (a act) {
					if p.n == 1 {
						a.raw = raw(h.Xid)
					}
					return a
				}
			})
			b := c.Batch()
			stat := b.Stat("/")
			stat.Then(func() {
				if st, _ := c.State(); st.Up {
					t.Errorf("the result %v comes in the state %+v", stat.Err(), st)
				}
			})
			b.Send(t.Context())
			if <-stat.Done(); Classify(stat.Err()) != Unknown {
				t.Errorf("result %v", stat.Err())
			}
		})
	}
}

// A connection that is given up ends its calls, even if the client has locked up and does
// not read.
func TestCutEndsTheCalls(t *testing.T) {
	c := newConn(Config{Timeout: time.Minute})
	l := &link{c: c, done: make(chan struct{}), grown: make(chan struct{})}
	s := &scripted{}
	s.in, s.out = io.Pipe()
	fr := newFramed(l, s, s, "x", time.Second)
	fr.ready, fr.sent, l.cur, c.link = true, time.Now(), fr, l
	c.mu.Lock()
	c.setLocked(State{Session: 1, Epoch: 1, Up: true})
	c.mu.Unlock()
	b := c.Batch()
	k := b.Stat("/")
	b.Send(t.Context())
	l.cut()
	if <-k.Done(); Classify(k.Err()) != Unknown {
		t.Errorf("result %v", k.Err())
	}
	if _, _, err := c.Stat("/"); Classify(err) != NotSent {
		t.Errorf("after that: %v", err)
	}
}
