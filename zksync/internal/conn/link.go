package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// sendBuffer is the size of the buffer that the client encodes a request into. The
// client's own largest requests are SetWatches frames of up to 128 KiB
// (conn.go:592). One that does not fit fails, and the watches stay unset. The rest
// of the buffer is for the length before each frame, and for one long path.
const sendBuffer = 128<<10 + 8<<10

// receiveBuffer is what the client begins to receive into, on each connection.
const receiveBuffer = 16 << 10

// link is one client with the dialer and host list it was given.
type link struct {
	c    *Conn
	zc   *zk.Conn
	ec   <-chan zk.Event // closed when the client's loop has ended
	done chan struct{}   // closed by kill: never dials again

	// With these the client closes at once while it has no session.
	idling  chan struct{} // closed when the client's loop has come to wait after kill
	closing atomic.Bool   // it is being closed after that

	seen atomic.Int64 // zxid of the last answer in this session

	mu     sync.Mutex
	dead   bool
	next   int // server to try
	addrs  []string
	cur    *framed          // newest connection
	fails  int              // tries since the last good handshake
	active time.Time        // last sign that the client's loop moves
	errs   map[string]error // how each server failed last
	last   handshake        // the last good one
}

// handshake is what a connection's first answer said.
type handshake struct {
	session int64
	timeout time.Duration
	fresh   bool      // a new session: the quorum agreed to it
	sent    time.Time // when the request went out
}

func (c *Conn) newLink() (*link, error) {
	l := &link{c: c, done: make(chan struct{}), idling: make(chan struct{}), active: time.Now(), errs: make(map[string]error)}
	l.addrs = append(l.addrs, c.cfg.Servers...)
	rand.Shuffle(len(l.addrs), func(i, j int) { l.addrs[i], l.addrs[j] = l.addrs[j], l.addrs[i] })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	_, ec, err := zk.Connect(l.addrs, c.cfg.Timeout,
		func(zc *zk.Conn) { l.zc = zc }, // its loop asks for it at once
		zk.WithDialer(l.dial), zk.WithHostProvider(hosts{l}), zk.WithEventCallback(l.event),
		zk.WithLogger(quiet{c.cfg.Logger}), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(sendBuffer))
	if err != nil {
		return nil, err
	}
	l.ec = ec
	c.link = l
	return l, nil
}

// event is the client's one ordered feed. It runs in the client's own
// goroutines, sometimes under their locks: no call on the client from here.
func (l *link) event(ev zk.Event) {
	if ev.Type == zk.EventSession {
		l.touch()
	}
	switch {
	case ev.Type == zk.EventNotWatching: // the end of the session says the same
	case ev.Type != zk.EventSession:
		l.c.fire(ev.Path, ev.Type)
	case ev.State == zk.StateHasSession:
		l.mu.Lock()
		hs := l.last
		l.mu.Unlock()
		var proof time.Time
		if hs.fresh {
			proof = hs.sent
		}
		l.c.up(l, hs.session, hs.timeout, proof)
	case ev.State == zk.StateDisconnected:
		l.c.down(l)
		if l.closing.Load() {
			// The loop, which ends now, answers the client's own close request
			// only if that is queued by then; else Close waits for a second
			// (conn.go:380-382, 318-321).
			time.Sleep(queueTime)
		}
	case ev.State == zk.StateExpired:
		l.c.expired(l)
	}
}

// hosts is the client's host list. It holds names, which the dialer resolves at
// each dial; the client's own list resolves them once. It asks for no pause, since
// the client would pause for a whole second and the dialer has pauses of its own.
// Once the link is dead it asks for one: only in a pause does the client's loop
// notice that the client is closed (conn.go:375-385).
type hosts struct{ l *link }

func (h hosts) Init([]string) error { return nil }
func (h hosts) Len() int            { return len(h.l.addrs) }
func (h hosts) Connected()          {}

func (h hosts) Next() (string, bool) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	s := h.l.addrs[h.l.next%len(h.l.addrs)]
	h.l.next++
	if h.l.dead {
		select {
		case <-h.l.idling:
		default:
			close(h.l.idling)
		}
	}
	return s, h.l.dead
}

var errDead = errors.New("connection given up")

// dial is the client's dialer.
func (l *link) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	l.mu.Lock()
	l.active = time.Now()
	if l.cur != nil { // the client does not close it at expiry (conn.go:435-437)
		l.cur.cut()
		l.cur = nil
	}
	pause, limit := l.pauseLocked(), l.limitLocked()
	l.mu.Unlock()
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-l.done:
		}
	}
	select {
	case <-l.done:
		return nil, errDead
	default:
	}
	raw, conn, err := l.open(network, addr, limit)
	if err != nil {
		l.failed(addr, err)
		return nil, err
	}
	f := newFramed(l, raw, conn, addr, limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = time.Now()
	if l.dead {
		f.cut()
		return nil, errDead
	}
	l.cur = f
	return f, nil
}

func (l *link) open(network, addr string, limit time.Duration) (raw, conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(l.c.life, limit)
	defer cancel()
	if d := l.c.cfg.Dialer; d != nil {
		raw, err = d(network, addr, limit)
	} else {
		raw, err = new(net.Dialer).DialContext(ctx, network, addr)
	}
	if err != nil || l.c.cfg.TLS == nil {
		return raw, raw, err
	}
	cfg := l.c.cfg.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	tc := tls.Client(raw, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, nil, err
	}
	return raw, tc, nil
}

func (l *link) failed(addr string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = time.Now()
	l.fails++
	l.errs[addr] = err
}

// receives sets how large a frame the client takes; 0 is any. Without a limit the
// client allocates 1.5 MB for each connection (conn.go:794-798). With a limit it
// ends the connection when a larger frame comes (conn.go:811-813). So the limit
// stands when a connection begins, and falls when a large frame comes. receives is
// called from the client's own read, in the goroutine that looks at the limit.
func (l *link) receives(limit int) { zk.WithMaxBufferSize(limit)(l.zc) }

// see takes the zxid out of an answer and keeps it, for the connect request and
// for SetWatches. The client would read it, when it takes stock of the watches
// to set again, while the answers of the same connection change it.
func (l *link) see(zxid int64, answer []byte) {
	if zxid > 0 {
		l.seen.Store(zxid)
	}
	wire.SetZxid(answer, 0)
}

func (l *link) established(hs handshake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = time.Now()
	l.fails = 0
	l.last = hs
	if hs.session != 0 {
		l.c.granted.Store(int64(hs.timeout))
	}
}

func (l *link) server() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur != nil {
		return l.cur.addr
	}
	return ""
}

func (l *link) idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.active)
}

// touch notes that the client's loop moves.
func (l *link) touch() {
	l.mu.Lock()
	l.active = time.Now()
	l.mu.Unlock()
}

// cut closes the TCP connection under the client, which then moves on to the
// next server.
func (l *link) cut() {
	l.mu.Lock()
	f := l.cur
	l.mu.Unlock()
	if f != nil {
		f.cut()
	}
}

// kill makes sure that the link never carries a request again.
func (l *link) kill() {
	l.mu.Lock()
	if !l.dead {
		l.dead = true
		close(l.done)
	}
	l.mu.Unlock()
	l.cut()
}

const (
	// graceOfClose is what closing a client without a session may take before it
	// is left to the background.
	graceOfClose = 100 * time.Millisecond
	// queueTime is far more than the client needs to queue a request.
	queueTime = 10 * time.Millisecond
)

// close ends the session at the server if it can be reached, then the client.
func (l *link) close(ctx context.Context) {
	if l.zc.State() != zk.StateHasSession {
		l.kill()
		timer := time.NewTimer(graceOfClose / 2)
		select {
		case <-l.idling:
			l.closing.Store(true)
		case <-timer.C: // in a dialer that does not keep to its limit
		case <-ctx.Done():
		}
		timer.Stop()
	}
	closed := make(chan struct{})
	go func() { l.zc.Close(); close(closed) }() // takes up to 3 s (conn.go:318-321, 904-911)
	select {
	case <-closed:
	case <-ctx.Done():
	}
	l.kill()
	select {
	case <-l.drained():
	case <-ctx.Done():
	}
}

// drained is closed when the client's loop has ended.
func (l *link) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range l.ec {
		}
	}()
	return done
}

// quiet routes the client's log lines, which know no levels.
type quiet struct{ l *slog.Logger }

func (q quiet) Printf(format string, args ...any) {
	q.l.Debug("zk: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}
