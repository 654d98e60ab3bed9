package zktest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/internal/dynamic"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// Server is ZooKeeper in memory. It speaks the protocol to any client, over
// loopback TCP ([Server.Addr]) or without a network ([Server.Dial] and
// [Server.DialContext]). A test can look into it and make the [Faults] that real
// servers have. The package comment lists what it does not do.
//
// A Server is one ensemble. Clients see each [Member] of it as one server. A new
// Server has one member, Member(0); Addr, Listen, Serve, Dial and DialContext belong to
// that one. The faults of a Server are those of all its members.
//
// A Server that was made in a testing/synctest bubble lives in the bubble's time,
// as do its clients that connect without a network.
//
// The zero value is not usable: use [Run] or [New]. It must not be copied. Its
// methods may be called from several goroutines.
type Server struct {
	Faults

	cfg   config
	start time.Time
	wg    sync.WaitGroup // every goroutine of the server

	// hookTurn lets one call of a test's function run at a time: who has put something
	// into it has the turn. A mutex would stop a bubble's clock while the function waits.
	// It is never taken while mu is held.
	hookTurn chan struct{}

	// mu is never held during a wait. It guards the fields below it, and the
	// fields of sessions, members and connections unless they say otherwise.
	mu       sync.Mutex
	closed   bool
	tree     *tree.Tree // the leader's
	first    int64      // the zxid that tree began with: 0, or that of the last Reset
	sessions map[int64]*session
	ends     deadlines // of sessions
	lastID   int64
	members  []*Member
	leader   *Member
	servers  dynamic.Config
	lost     bool          // there is no quorum
	few      chan struct{} // not nil while most members are cut off, closed when that ends
	alarm    *time.Timer   // for the first session to end
	alarmAt  time.Duration // since start; when alarm rings, 0: not set
	reaper   *time.Timer   // nil while nothing is to be reaped
	requests requestCounts

	recorders []*Recorder
	records   int // requests that were recorded so far
}

// Run starts a server for a test, and closes it when the test ends.
func Run(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := New(opts...)
	t.Cleanup(s.Close)
	return s
}

// New starts a server with an empty tree. [Server.Close] ends it.
func New(opts ...Option) *Server {
	s := &Server{
		cfg:      newConfig(opts),
		start:    time.Now(),
		tree:     tree.New(),
		sessions: make(map[int64]*session),
		lastID:   1 << 56, // ZooKeeper's have the server's number there
		requests: newRequestCounts(),
		hookTurn: make(chan struct{}, 1),
	}
	s.Faults = Faults{srv: s}
	s.leader = s.AddMember()
	return s
}

// Close closes every connection and port, and waits until no goroutine of the
// server is left. The methods that look into the server still work. A function
// that was passed to [Faults.DropReply] or [Faults.DropRequest] must not call it.
// Further calls do nothing.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.alarm != nil {
		s.alarm.Stop()
	}
	if s.reaper != nil {
		s.reaper.Stop()
	}
	for _, m := range s.members {
		m.close()
	}
	for _, r := range s.recorders {
		r.stir()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// since returns the time on the server's own clock.
func (s *Server) since() time.Duration { return time.Since(s.start) }

func (s *Server) log(msg string, args ...any) {
	if s.cfg.log != nil {
		s.cfg.log.Log(context.Background(), slog.LevelDebug, msg, args...)
	}
}
