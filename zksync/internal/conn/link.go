package conn

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// receiveBuffer is the size of the buffer with which the client begins to receive on
// each connection. The answers to our own requests do not go through it.
const receiveBuffer = 1 << 10

// link is one client that belongs to the Conn, with its dialer and its list of hosts. For
// a program's client only c and zc are set.
type link struct {
	c     *Conn
	zc    *zk.Conn
	ec    <-chan zk.Event // closed when the client's loop has ended
	addrs []string
	done  chan struct{} // closed by kill: the client never dials again

	// creds are the credentials that the program has added to the client, as
	// framed.authenticate sends them. Guarded by mu.
	creds []Auth

	// With these the send buffer grows when the program gets the client.
	lent  atomic.Bool   // the program has the client
	grown chan struct{} // closed when the buffer has grown

	// With these a client that has no session closes at once.
	idling  chan struct{} // closed when the client's loop waits after kill
	closing atomic.Bool   // the client is being closed after that

	heard atomic.Int64 // when the last frame came, in nanoseconds since 1970
	seen  atomic.Int64 // the largest zxid of an answer in this session; written by the client's reader

	mu     sync.Mutex       // guards the fields below; taken after Conn.mu
	dead   bool             // killed
	next   int              // the server to try next
	cur    *framed          // the newest connection
	fails  int              // tries since the last good handshake
	active time.Time        // the last sign that the client's loop moves
	errs   map[string]error // how each server failed last
	last   handshake        // the last good one
}

// handshake is the content of the first answer on a connection.
type handshake struct {
	session int64
	timeout time.Duration
	fresh   bool      // the session is new, so that the quorum has agreed to it
	sent    time.Time // when the connect request was sent
}

// newLink makes a client and puts it to use.
func (c *Conn) newLink() (*link, error) {
	l := &link{c: c, done: make(chan struct{}), grown: make(chan struct{}), idling: make(chan struct{}), active: time.Now(), errs: make(map[string]error)}
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
		zk.WithLogger(quiet{c.cfg.Logger}), zk.WithLogInfo(false), zk.WithMaxConnBufferSize(firstSendBuffer))
	if err != nil {
		return nil, err
	}
	l.ec = ec
	c.link = l
	return l, nil
}

// event is the client's callback, which gets all events in their order. It runs in
// the client's own goroutines, sometimes under their mutexes, so that it must not call
// the client.
func (l *link) event(ev zk.Event) {
	if ev.Type == zk.EventSession {
		l.touch()
	}
	switch {
	case ev.Type == zk.EventNotWatching: // comes with the end of the session
	case ev.Type != zk.EventSession:
		l.c.watches.notify(ev.Path, ev.Type)
	case ev.State == zk.StateHasSession:
		l.mu.Lock()
		hs := l.last
		l.mu.Unlock()
		var sent time.Time
		if hs.fresh {
			sent = hs.sent
		}
		l.c.up(l, hs.session, hs.timeout, sent)
		l.grow() // the goroutine that sends starts after this
	case ev.State == zk.StateDisconnected:
		l.c.down(l)
		if l.closing.Load() {
			// The client's loop, which ends now, answers the client's own close
			// request only if that is in the queue by then. Otherwise Close waits
			// for a second (conn.go:380-382, 318-321).
			time.Sleep(queueTime)
		}
	case ev.State == zk.StateExpired:
		l.c.expired(l)
	}
}

// pipeOf returns the pipe of the newest connection, which has a session from now on. It is
// nil if there is no connection with a session, and for a program's client.
func (l *link) pipeOf(st State) *pipe {
	if !st.Up {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur == nil {
		return nil
	}
	l.cur.pipe.state = st
	return l.cur.pipe
}

// failed records a try that did not come to a session.
func (l *link) failed(addr string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = time.Now()
	l.fails++
	l.errs[addr] = err
}

// receives sets how large a frame the client accepts; 0 is no limit. Without a limit
// the client allocates 1.5 MB for each connection (conn.go:794-798). With a limit it
// ends the connection when a larger frame comes (conn.go:811-813). So there is a limit
// when a connection begins, and none once a large frame comes. receives is called
// within the client's own read, in the goroutine that uses the limit.
func (l *link) receives(limit int) { zk.WithMaxBufferSize(limit)(l.zc) }

// see keeps the largest zxid of all answers, those to our own requests included, for
// the connect request and for SetWatches. With a smaller one, a server that lags would
// accept the session, and would hide nodes from it that it has seen. The zxid is taken
// out of an answer to the client, which would read its own copy without a mutex, when it
// sets its watches again, while the answers of the same connection change it.
func (l *link) see(zxid int64, answer []byte) {
	if zxid > l.seen.Load() {
		l.seen.Store(zxid)
	}
	wire.SetZxid(answer, 0)
}

// established records a good handshake.
func (l *link) established(hs handshake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = time.Now()
	l.fails = 0
	l.last = hs
	if hs.session != 0 {
		clear(l.errs)
		l.c.granted.Store(int64(hs.timeout))
	}
}

// server returns the server of the newest connection.
func (l *link) server() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cur != nil {
		return l.cur.addr
	}
	return ""
}

// idle returns the time since the last sign that the client's loop moves.
func (l *link) idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.active)
}

// touch records that the client's loop moves.
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
	// graceOfClose is how long closing a client without a session may take before
	// it goes on in the background.
	graceOfClose = 100 * time.Millisecond
	// queueTime is far more than the client needs to queue a request.
	queueTime = 10 * time.Millisecond
)

// close ends the session, if a server can be reached, and then the client.
func (l *link) close(ctx context.Context) {
	if l.zc.State() != zk.StateHasSession {
		l.kill()
		timer := time.NewTimer(graceOfClose / 2)
		select {
		case <-l.idling:
			l.closing.Store(true)
		case <-timer.C: // the loop is in a dialer that exceeds its limit
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

// drained returns a channel that is closed when the client's loop has ended.
func (l *link) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range l.ec {
		}
	}()
	return done
}

// quiet is the client's logger. The client's lines have no levels; here they are all
// at level Debug.
type quiet struct{ l *slog.Logger }

func (q quiet) Printf(format string, args ...any) {
	q.l.Debug("zk: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}
