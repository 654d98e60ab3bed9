package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/semaphore"
)

// ErrClosed is returned by every call on a closed Conn.
var ErrClosed = errors.New("connection closed for good")

// ErrClientClosed is the ErrClosed of a Conn whose client belongs to the program and
// was closed by it.
var ErrClientClosed = fmt.Errorf("%w: the program has closed its ZooKeeper client", ErrClosed)

// Auth is one credential. It is sent on each new connection before anything else.
type Auth struct {
	Scheme string
	Cred   []byte
}

// Config says how to connect. Servers are host:port.
type Config struct {
	Servers []string
	Timeout time.Duration // the session timeout to request
	Auth    []Auth
	TLS     *tls.Config
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
	Logger  *slog.Logger
	// OnState is called with every new state, in order. The client's own
	// goroutines call it, so it must not block.
	OnState func(State)
	Plain   func() int // counts the locks whose holders would not learn of a loss; may be nil
}

// Conn is a connection that outlives its sessions and, if need be, its client. The
// comments name the files that use a field.
type Conn struct {
	cfg     Config
	foreign *foreignClient // foreign.go; nil if the client is this Conn's own

	life context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup // Close waits for these goroutines

	limit    int                 // size.go; the largest request, in bytes
	slots    *semaphore.Weighted // call.go; one for each call that waits for its answer
	requests atomic.Int64        // call.go; how many were made
	granted  atomic.Int64        // limits.go; the session timeout that the servers granted; 0: not known yet

	pipe         atomic.Pointer[pipe]   // pipe.go; of the connection that is up; nil: none, or a program's client
	outbox       outbox                 // outbox.go
	watches      *watches               // watches.go; has a mutex of its own
	keepsWatches atomic.Bool            // watch.go; the server can't remove watches
	moment       atomic.Pointer[moment] // clock.go; what mu guards of it, as of the last change
	unreadable   unreadable             // round.go; has a mutex of its own
	slowRound    atomic.Bool            // round.go; the last round failed, or took long

	mu      sync.Mutex // guards the fields below
	link    *link      // the client in use
	clock   quorumClock
	guards  guardSet
	probing bool // probe.go; probeLoop runs

	// state.go
	state   State
	changed chan struct{}      // closed and replaced at each change
	past    map[int64]struct{} // every session that this Conn has had
	refusal error              // the servers refuse the credentials
	closed  bool
}

func newConn(cfg Config) *Conn {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Conn{
		cfg:     cfg,
		limit:   clientLimit,
		slots:   semaphore.NewWeighted(maxOutstanding),
		watches: newWatches(),
		clock:   quorumClock{timeout: cfg.Timeout},
		guards:  make(guardSet),
		changed: make(chan struct{}),
		past:    make(map[int64]struct{}),
	}
	c.keepMomentLocked()
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// Dial connects, and returns once there is a session. If ctx ends first, the error
// names each server that was tried and how it failed. If ctx has ended before the
// call, no server is tried.
//
// A Dial that fails leaves nothing, except that closing its client may go on in the
// background for a second or two.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c := newConn(cfg)
	l, err := c.newLink()
	if err != nil {
		return nil, err
	}
	c.wg.Go(c.watchdog)
	c.wg.Go(c.logOutages)
	if _, err = c.await(ctx, true); err == nil {
		return c, nil
	}
	if !errors.Is(err, zk.ErrAuthFailed) {
		err = &DialError{Servers: l.report(cfg.Servers), Err: err}
	}
	c.closeSoon()
	return nil, err
}

// closeSoon closes a Conn that never had a session. It waits for graceOfClose at
// most; then the closing goes on in the background.
func (c *Conn) closeSoon() {
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
}

// Close ends the session and the client, and waits for both until ctx ends. It
// leaves a client that belongs to the program open. Calls in progress return.
func (c *Conn) Close(ctx context.Context) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	l := c.link
	c.pipe.Store(nil)
	c.watches.close()
	c.announceLocked()
	c.mu.Unlock()
	c.stop()
	if c.foreign == nil {
		l.close(ctx)
	}
	done := make(chan struct{})
	go func() { c.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Life returns a context that ends with Close.
func (c *Conn) Life() context.Context { return c.life }

// Zk returns the client in use, for the program. The first call for a client makes a
// request, and waits until that has been sent.
func (c *Conn) Zk() *zk.Conn {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if c.foreign == nil {
		l.lend()
	}
	return l.zc
}

// Requests returns how many requests were made, probes included.
func (c *Conn) Requests() int64 { return c.requests.Load() }

// Ordered reports whether events come in the order in which they happened. A client
// that belongs to the program delivers them on one channel for each watch, which have
// no common order.
func (c *Conn) Ordered() bool { return c.foreign == nil }

// Logger returns the logger of the configuration, never nil.
func (c *Conn) Logger() *slog.Logger { return c.cfg.Logger }
