package conn

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a ZooKeeper server that can do what these tests need, and can be made to do
// it wrong. Its connections are pipes, so that it runs in a bubble.
type fake struct {
	timeout time.Duration
	wg      sync.WaitGroup // two goroutines for each connection

	mu       sync.Mutex
	zxid     int64
	session  int64            // the newest one
	dead     map[int64]bool   // the sessions that are over
	nodes    map[string]*node // by path
	count    int              // of the nodes created, for sequence numbers
	peers    []*peer          // one for each connection so far
	requests []arrival
	refuse   error // the error of each dial
	// script says what to do with a request; nil: answer it.
	script func(p *peer, h wire.RequestHeader) act
	// hello is sent instead of the answer to the connect request.
	hello []byte
	cert  *tls.Certificate // nil: no TLS
	// onSetWatches is called with each SetWatches and its zxid.
	onSetWatches func(p *peer, zxid int64)
	losesWatches bool // it ignores the watches of SetWatches
}

type node struct {
	data    string
	stat    wire.Stat
	watches []*peer
	secret  bool // no session may read it
}

// arrival is a request that has come.
type arrival struct {
	peer int
	op   wire.Op
	at   time.Time
	size int // in bytes
}

// act is what a script decides. The zero value is a correct answer.
type act struct {
	silent bool
	code   wire.Code // answer with this error
	raw    []byte    // send these bytes instead of the answer
	cut    bool      // close the connection after the answer
	delay  time.Duration
}

// peer is one connection, seen from the server.
type peer struct {
	f       *fake
	n       int // counted from 1
	conn    net.Conn
	out     chan []byte
	done    chan struct{} // closed when nothing more is read
	started time.Time
	ended   time.Time // when reading ended
	session int64
	connect wire.ConnectRequest
}

func newFake(timeout time.Duration) *fake {
	return &fake{timeout: timeout, dead: make(map[int64]bool), nodes: map[string]*node{"/": {}}}
}

func (f *fake) dial(_, _ string, _ time.Duration) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	client, server := net.Pipe()
	if f.cert != nil {
		server = tls.Server(server, &tls.Config{Certificates: []tls.Certificate{*f.cert}})
	}
	p := &peer{f: f, n: len(f.peers) + 1, conn: server, out: make(chan []byte, 1000), done: make(chan struct{}), started: time.Now()}
	f.peers = append(f.peers, p)
	f.wg.Go(p.read)
	f.wg.Go(p.write)
	return client, nil
}

// config returns a configuration for this server.
func (f *fake) config() Config {
	return Config{Servers: []string{"one.example:2181"}, Timeout: f.timeout, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		limit, _ := ctx.Deadline()
		return f.dial(network, addr, time.Until(limit))
	}}
}

// open opens a connection, and closes it at the end of the test.
func (f *fake) open(t *testing.T) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), f.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.end(c) })
	return c
}

// end closes a connection and waits for the server's goroutines.
func (f *fake) end(c *Conn) {
	c.Close(context.Background())
	f.cut()
	f.wg.Wait()
}

func (p *peer) write() {
	for {
		select {
		case b := <-p.out:
			if b == nil {
				p.conn.Close()
			} else if _, err := p.conn.Write(b); err != nil {
				p.conn.Close()
			}
		case <-p.done:
			return
		}
	}
}

func (p *peer) read() {
	defer func() {
		p.conn.Close()
		p.f.mu.Lock()
		p.ended = time.Now()
		p.f.mu.Unlock()
		close(p.done)
	}()
	br := bufio.NewReader(p.conn)
	for first := true; ; first = false {
		frame, err := wire.ReadFrame(br, nil, 1<<20)
		if err != nil {
			return
		}
		payload := frame[wire.FrameHeader:]
		if first {
			p.greet(payload)
			continue
		}
		h, body, err := wire.ParseRequestHeader(payload)
		if err != nil {
			return
		}
		p.serve(h, body)
	}
}

func (p *peer) greet(payload []byte) {
	req, _ := wire.ParseConnectRequest(payload)
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.connect = req
	if p.f.hello != nil {
		p.out <- p.f.hello
		return
	}
	if s := p.f.script; s != nil && s(p, wire.RequestHeader{Op: wire.OpCreateSession}).silent {
		return
	}
	resp := wire.ConnectResponse{Password: make([]byte, 16)}
	if !p.f.dead[req.SessionID] {
		resp.SessionID, resp.Timeout = req.SessionID, int32(p.f.timeout/time.Millisecond)
		if req.SessionID == 0 {
			p.f.session++
			p.f.zxid++
			resp.SessionID = p.f.session
		}
	}
	p.session = resp.SessionID
	p.out <- wire.AppendFrame(nil, resp.Append(nil))
}

// serve carries out a request and answers it, unless the script says otherwise.
func (p *peer) serve(h wire.RequestHeader, body []byte) {
	f := p.f
	f.mu.Lock()
	f.requests = append(f.requests, arrival{p.n, h.Op, time.Now(), 8 + len(body)})
	var a act
	if f.script != nil {
		a = f.script(p, h)
	}
	if a.silent || f.hello != nil {
		f.mu.Unlock()
		return
	}
	var e wire.Encoder
	code := a.code
	if code == 0 {
		code = p.run(h.Op, body, &e)
	}
	reply := wire.ReplyHeader{Xid: h.Xid, Zxid: f.zxid, Err: code}.Append(nil)
	f.mu.Unlock()
	out := wire.AppendFrame(nil, append(reply, e.Buf...))
	if a.raw != nil {
		out = a.raw
	}
	if a.delay > 0 {
		time.Sleep(a.delay) // virtual time
	}
	p.out <- out
	if a.cut {
		p.out <- nil // closes the connection after what is queued
	}
}

// do changes the server under its mutex.
func (f *fake) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// times returns when requests of a kind came, counted from start.
func (f *fake) times(op wire.Op, start time.Time) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for _, r := range f.requests {
		if r.op == op {
			out = append(out, r.at.Sub(start))
		}
	}
	return out
}

func (f *fake) countOf(op wire.Op) int { return len(f.times(op, time.Time{})) }

// dials returns the number of connections so far.
func (f *fake) dials() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.peers)
}

// expire ends the newest session and its connections.
func (f *fake) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead[f.session] = true
	for path, n := range f.nodes {
		if n.stat.EphemeralOwner == f.session {
			delete(f.nodes, path)
		}
	}
	for _, p := range f.peers {
		p.conn.Close()
	}
}

// cut closes every connection.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.peers {
		p.conn.Close()
	}
}

var (
	errRefused = errors.New("refused by the test")
	acl        = zk.WorldACL(zk.PermAll)
)

// allMute is a script that answers nothing, not even pings and handshakes.
func allMute(*peer, wire.RequestHeader) act { return act{silent: true} }

// ephemeral creates a node of the session, and returns its path.
func ephemeral(t *testing.T, c *Conn, path string) string {
	t.Helper()
	made, ran, err := c.Create([]string{path}, []byte("data"), zk.FlagEphemeral, acl)
	if err != nil {
		t.Fatal(err)
	}
	if st, _ := c.State(); ran.Session() != st.Session {
		t.Fatalf("created by session %d, have %d", ran.Session(), st.Session)
	}
	return made[0]
}
