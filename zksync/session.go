package zksync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// closeLimit bounds Close. Within it, deleteLimit bounds the deletion of nodes, and
// hookLimit one function of the tracer.
const (
	closeLimit  = 5 * time.Second
	deleteLimit = closeLimit - time.Second
	hookLimit   = time.Second
)

// Session is a program's connection to ZooKeeper, which its locks use. It outlives
// ZooKeeper's own sessions: after an expiry the locks that were held are lost, calls
// that waited go on at the back of the queue, and the next call works. One Session
// is enough for a process.
//
// Get one from Dial or NewSession: the zero value is not usable, and its methods panic. A
// Session must not be copied. Its methods may be called by several goroutines.
type Session struct {
	cfg     config
	conn    *conn.Conn
	foreign bool
	host    string
	info    []byte // the data of nodes that name no call
	states  events // the state changes of the connection; no function of the program runs there
	events  events // functions that report to the program

	life     context.Context // ends with a Close that leaves the clean-up to do
	end      context.CancelCauseFunc
	reported SessionState // the state that the tracer got last; used only by the goroutine of events
	table    *local.Table // the locks in use
	stats    counters
	quiet    sync.Pool // of *call; those that leave no trace, to be used again
	more     func()    // reports one more node to clean up to the tracer; made once
	less     func()    // reports one less; made once

	differs   logged    // semaphores with several limits, by path
	trouble   throttle  // lines about the connection
	failures  throttle  // calls of TryLock that failed
	strangers strangers // paths with children of another recipe
	stayers   logged    // nodes in line that belong to no session

	closing atomic.Bool   // Close was called
	ended   chan struct{} // closed when the first Close has its result
	result  error         // the result of Close; written before ended is closed
}

// Dial connects to one of the servers and returns once it has a session. Each
// server is "host:port", or "host" with ZooKeeper's port 2181. An element may also be a
// connect string, as other ZooKeeper clients take it: "zk1:2181,zk2:2181/app". The chroot
// at its end means what WithChroot does, and may stand only at the end of the last
// element, and not beside WithChroot. Names are resolved again at each connection.
//
// The error is an *Error: for a server list or an option that makes no sense, for
// credentials that the servers refuse (zk.ErrAuthFailed), and when ctx ends first.
// It then Is ctx.Err() and says how each server failed. If ctx has ended already,
// Dial tries no server. Give ctx a timeout: without one, Dial waits for ever, and only
// the log says why (WithLogger). A failure leaves nothing behind, but the connection may
// take a second or two to close in the background.
func Dial(ctx context.Context, servers []string, opts ...DialOption) (*Session, error) {
	s, err := newSession(opts)
	if err != nil {
		return nil, dialError(err)
	}
	list, chroot, err := conn.ParseServers(servers)
	if err == nil && chroot != "" {
		err = s.cfg.rootedAt(chroot)
	}
	if err != nil {
		return nil, dialError(err)
	}
	c, err := conn.Dial(ctx, s.connConfig(list))
	if err != nil {
		limit, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		s.finish(limit)
		if e := ctx.Err(); e != nil && !errors.Is(err, e) {
			err = joined{err, e}
		}
		return nil, dialError(err)
	}
	s.use(c)
	if granted := s.Timeout(); granted != s.cfg.timeout.Truncate(time.Millisecond) {
		s.logger().Warn("zksync: the servers have granted another session timeout than was asked for", "asked", s.cfg.timeout, "granted", granted)
	}
	return s, nil
}

func dialError(err error) error { return &Error{Op: "dial", Err: err} }

// NewSession makes a Session on a client that the program has. Close leaves the
// client open; see there. timeout is the session timeout that the ensemble granted to
// the client, which the client does not report: with a larger value losses are
// noticed too late.
//
// Such a Session lacks some of what Dial gives: it polls for disconnects, each turn
// in line takes one read, and the client's own defects remain. When the program
// closes the client, held locks are lost by the clock, and every wait and every call
// ends with an error that Is ErrClosed. Close the Session all the same.
//
// The options that concern the connection (WithTLS, WithAuth, WithDialContext,
// WithSessionTimeout) belong to the client: they are no Option. The error is an
// *Error.
func NewSession(client *zk.Conn, timeout time.Duration, opts ...Option) (*Session, error) {
	all := make([]DialOption, len(opts))
	for i, o := range opts {
		all[i] = o
	}
	s, err := newSession(all)
	switch {
	case err != nil:
	case client == nil:
		err = errors.New("no client")
	case timeout < 200*time.Millisecond:
		err = fmt.Errorf("session timeout of %v: want 200ms or more", timeout)
	}
	if err != nil {
		return nil, dialError(err)
	}
	s.cfg.timeout = timeout
	s.foreign = true
	s.use(conn.Adapt(client, s.connConfig(nil)))
	return s, nil
}

func newSession(opts []DialOption) (*Session, error) {
	s := &Session{
		table: local.NewTable(),
		ended: make(chan struct{}),
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	if err := s.cfg.apply(opts); err != nil {
		return nil, err
	}
	if f := s.cfg.tracer.Cleanup; f != nil {
		s.more = func() { s.hook(func() { f(CleanupEvent{Change: 1}) }) }
		s.less = func() { s.hook(func() { f(CleanupEvent{Change: -1}) }) }
	}
	s.host, _ = os.Hostname()
	if s.cfg.identity == "" {
		s.cfg.identity = fmt.Sprintf("%s:%d", s.host, os.Getpid())
	}
	s.info = s.says(local.Name{})
	return s, nil
}

func (s *Session) connConfig(servers []string) conn.Config {
	return conn.Config{
		Servers: servers,
		Timeout: s.cfg.timeout,
		Auth:    s.cfg.auth,
		TLS:     s.cfg.tls,
		Dial:    s.cfg.dial,
		Logger:  slog.New(connLog{s}),
		Plain:   s.table.Plain,
		OnState: func(st conn.State) { s.states.push(func() { s.onState(st) }) },
	}
}

func (s *Session) check() {
	if s == nil || s.conn == nil {
		panic("zksync: use of zero Session")
	}
}

// Conn returns the go-zookeeper client under the session, for the program's other
// work. It may be another client after a failure: don't keep it. It can send requests
// of up to 136 KiB: a larger one fails with zk.ErrShortBuffer, or, if it is a
// transaction, may end the process. The first call makes one request, and enlarges the
// client's buffer. Don't close the client, and use WithAuth rather than its AddAuth.
func (s *Session) Conn() *zk.Conn {
	s.check()
	return s.conn.Zk()
}

// ID returns the id of the present ZooKeeper session, which may have ended while
// disconnected; 0 when there is none.
func (s *Session) ID() int64 {
	s.check()
	st, _ := s.conn.State()
	return st.Session
}

// Timeout returns the session timeout that the servers granted; after NewSession,
// the timeout given there.
func (s *Session) Timeout() time.Duration {
	s.check()
	return s.conn.Timeout()
}

// Ping makes one round trip to the quorum. Use it for readiness checks. The error
// is an *Error that Is ctx.Err(), ErrClosed, or the error of the connection.
func (s *Session) Ping(ctx context.Context) error {
	s.check()
	if err := s.ping(ctx); err != nil {
		return &Error{Op: "ping", Err: err}
	}
	return nil
}

func (s *Session) ping(ctx context.Context) error {
	ctx, done := s.during(ctx)
	defer done()
	for p := (queue.Pause{}); ; p.Wait(ctx) {
		if err := s.alive(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctxErr(ctx)
		}
		if _, err := s.conn.Await(ctx); err != nil {
			return s.mapErr(ctx, err)
		}
		// A transaction without an effect: the check of a node that every
		// server has. Reads and pings would be answered by a server that has
		// lost its quorum.
		err := await(ctx, func() error { _, _, err := s.conn.Check("/"); return err })
		if err == nil || conn.Classify(err) == conn.Answered {
			return err
		}
		if ctx.Err() != nil || errors.Is(err, conn.ErrClosed) {
			return s.mapErr(ctx, err)
		}
	}
}

// await runs f and returns its result, or ctx's error without waiting for it.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctxErr(ctx)
	}
}

// alive returns ErrClosed after Close.
func (s *Session) alive() error {
	if s.table.Closed() {
		return ErrClosed
	}
	return nil
}
