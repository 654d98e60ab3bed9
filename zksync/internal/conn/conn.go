package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/semaphore"
)

// ErrClosed is returned by every call on a closed Conn.
var ErrClosed = errors.New("connection closed for good")

// ErrClientClosed is ErrClosed where the program has closed a client of its own.
var ErrClientClosed = fmt.Errorf("%w: the program has closed its ZooKeeper client", ErrClosed)

// Auth is one credential, sent at each new connection before anything else.
type Auth struct {
	Scheme string
	Cred   []byte
}

// Config says how to connect. Servers are host:port.
type Config struct {
	Servers []string
	Timeout time.Duration // the session timeout to ask for
	Auth    []Auth
	TLS     *tls.Config
	Dialer  zk.Dialer // nil: TCP
	Logger  *slog.Logger
	// OnState is told of every change, in order, by the client's own
	// goroutines: it must not block.
	OnState func(State)
}

// State is what is known of the connection at a moment.
type State struct {
	Session int64  // the session that stands, or may still stand; 0: none
	Epoch   uint64 // counts TCP connections that came to a session
	Up      bool   // connected, with a session
	Server  string // connected to, or last connected to
	Expired bool   // the session before this one is over (told once)
}

// maxOutstanding bounds the calls that wait for an answer at one time. The client
// has no bound of its own: it queues 16 requests in a channel, and every further
// call blocks in the send, without a limit (conn.go:40, 918).
const maxOutstanding = 1024

// Conn is a connection that outlives its sessions and, if need be, its client.
type Conn struct {
	cfg     Config
	foreign bool // the client is the program's: no dialer, no event feed
	limit   int  // the largest request, in bytes
	slots   *semaphore.Weighted
	life    context.Context // ends with Close
	die     context.CancelFunc
	wg      sync.WaitGroup // watchdog, prober, watch forwarders
	request atomic.Int64
	outbox  outbox
	granted atomic.Int64 // the session timeout the servers granted; 0: not known yet

	// Of a foreign client.
	polling sync.Mutex // one look at a time
	resting int        // guarded by polling; looks in a row that found it doing nothing
	away    time.Time  // guarded by polling; since when it has had no session
	asking  atomic.Bool
	fed     map[watchKey]struct{} // guarded by mu; what the client watches

	mu      sync.Mutex
	link    *link
	state   State
	changed chan struct{}      // closed and replaced at each change of state
	timeout time.Duration      // T, as negotiated
	contact time.Time          // sending of the last answered quorum write of state.Session
	past    map[int64]struct{} // every session this Conn has had
	watches map[watchKey]*Watch
	guards  map[*Guard]struct{}
	secret  map[string]struct{} // of their nodes, those that may not be read
	probing bool
	authErr error // the servers refuse our credentials
	closed  bool
	orphan  chan struct{} // closed when a foreign client is; nil for one of our own

	answered time.Time // when an answer to a quorum write came last
}

func newConn(cfg Config) *Conn {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Conn{
		cfg:     cfg,
		limit:   clientLimit,
		slots:   semaphore.NewWeighted(maxOutstanding),
		timeout: cfg.Timeout,
		changed: make(chan struct{}),
		past:    make(map[int64]struct{}),
		watches: make(map[watchKey]*Watch),
		guards:  make(map[*Guard]struct{}),
		secret:  make(map[string]struct{}),
	}
	c.life, c.die = context.WithCancel(context.Background())
	return c
}

// Dial connects and returns once a session stands. When ctx ends first, the
// error tells each server tried and how it failed. A ctx that has ended tries
// none.
//
// A failure leaves nothing, or what the client takes longer to close, which goes
// on in the background for a second or two.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := newConn(cfg)
	l, err := c.newLink()
	if err != nil {
		return nil, err
	}
	c.wg.Add(1)
	go c.watchdog()
	if _, err = c.await(ctx, true); err == nil {
		return c, nil
	}
	if !errors.Is(err, zk.ErrAuthFailed) {
		err = &DialError{Servers: l.report(cfg.Servers), Err: err}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		limit, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		c.Close(limit)
	}()
	timer := time.NewTimer(graceOfClose)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	return nil, err
}

// Await returns the state as soon as a session stands. It fails when ctx ends
// (with its cause), and with ErrClosed.
func (c *Conn) Await(ctx context.Context) (State, error) { return c.await(ctx, false) }

// await does not wait, at the first connection, for servers that refuse our
// credentials; later on they may come to their senses.
func (c *Conn) await(ctx context.Context, first bool) (State, error) {
	for {
		c.mu.Lock()
		st, ch, auth, closed := c.state, c.changed, c.authErr, c.closedLocked()
		c.mu.Unlock()
		switch {
		case closed != nil:
			return st, closed
		case st.Up && !first && ctx.Err() != nil:
			// Whoever tries again and again until ctx ends has to notice.
			return st, context.Cause(ctx)
		case st.Up:
			return st, nil
		case first && auth != nil:
			return st, auth
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return st, context.Cause(ctx)
		}
	}
}

// closedLocked returns an error that Is ErrClosed if there will be no session any
// more.
func (c *Conn) closedLocked() error {
	if c.closed {
		return ErrClosed
	}
	select {
	case <-c.orphan:
		return ErrClientClosed
	default:
		return nil
	}
}

// State returns what is known now, and a channel that is closed when that
// changes.
func (c *Conn) State() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.changed
}

// Timeout returns T: the session timeout the servers granted.
func (c *Conn) Timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}

// Mine reports whether the session is or was one of this Conn.
func (c *Conn) Mine(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.past[session]
	return ok
}

// Life returns a context that ends with Close.
func (c *Conn) Life() context.Context { return c.life }

// Zk returns the client in use.
func (c *Conn) Zk() *zk.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.zc
}

// Requests returns how many requests were made, probes included.
func (c *Conn) Requests() int64 { return c.request.Load() }

// Ordered reports whether events arrive in one ordered feed: not on a client
// that is the program's, whose only feed is a channel a watch.
func (c *Conn) Ordered() bool { return !c.foreign }

// Logger returns the logger of the configuration, never nil.
func (c *Conn) Logger() *slog.Logger { return c.cfg.Logger }

// setLocked changes the state and tells everybody.
func (c *Conn) setLocked(st State) {
	if st.Session != c.state.Session {
		c.contact = time.Time{}
	}
	if st.Session != 0 {
		c.past[st.Session] = struct{}{}
	}
	c.state = st
	c.state.Expired = false
	if !st.Up {
		c.dropWatchesLocked()
	}
	c.announceLocked()
	if c.cfg.OnState != nil {
		c.cfg.OnState(st)
	}
}

func (c *Conn) announceLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// up notes that a session stands on a new TCP connection. proof is when the
// connect request was sent, if it was answered by the quorum: that of a new
// session is, that of a known one may be answered by a deposed leader.
func (c *Conn) up(l *link, session int64, timeout time.Duration, proof time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != l || c.closed {
		return
	}
	c.timeout = timeout
	c.dropWatchesLocked()
	c.setLocked(State{Session: session, Epoch: c.state.Epoch + 1, Up: true, Server: l.server()})
	if !proof.IsZero() {
		c.contact = proof
	}
}

func (c *Conn) down(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l && c.state.Up && !c.closed {
		st := c.state
		st.Up = false
		c.setLocked(st)
	}
}

func (c *Conn) expired(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l && c.state.Session != 0 && !c.closed {
		c.setLocked(State{Epoch: c.state.Epoch, Server: c.state.Server, Expired: true})
	}
}

func (c *Conn) refused(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authErr == nil && c.state.Session == 0 {
		c.authErr = err
		c.announceLocked()
	}
}

// Close ends the session and the client, waiting for both until ctx ends. A
// client that was the program's is left as it is. Calls in progress return.
func (c *Conn) Close(ctx context.Context) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	l := c.link
	c.dropWatchesLocked()
	c.announceLocked()
	c.mu.Unlock()
	c.die()
	if !c.foreign {
		l.close(ctx)
	}
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
