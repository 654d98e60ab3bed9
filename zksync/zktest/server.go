package zktest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// Server is ZooKeeper in memory: it speaks the protocol to any client, over
// loopback TCP ([Server.Addr]) or without a network ([Server.Dial]), and a test
// can look into it and do to it what happens to real ones. The package's comment
// says what it does not do.
//
// It is one ensemble, whose doors ([Door]) are what clients take for its servers.
// It has one to begin with; Addr and Dial are that one's. The methods that make
// faults act on all the doors there are at the time; a door has them for itself
// alone.
//
// In a testing/synctest bubble a Server that was made there lives in the bubble's
// time, with clients that came by Dial.
//
// The zero value is not usable: use [Run] or [New]. It must not be copied. Its
// methods may be called from several goroutines.
type Server struct {
	cfg   serverConfig
	start time.Time
	wg    sync.WaitGroup // every goroutine of the server

	// hookMu lets one call of a test's function run at a time. It is never taken
	// while mu is held.
	hookMu sync.Mutex

	// mu is never held while anything is waited for. The fields below it are
	// guarded by it, and so are those of sessions, doors and connections unless
	// they say otherwise.
	mu       sync.Mutex
	closed   bool
	rng      *rand.Rand
	tree     *tree.Tree // as the leader has it
	sessions map[int64]*session
	lastID   int64
	doors    []*Door
	alarm    *time.Timer   // for the first session to end
	alarmAt  time.Duration // since start; when alarm rings, 0: not set
	reaper   *time.Timer   // nil while nothing is to be reaped
	requests map[wire.Op]int
	perSess  map[int64]map[wire.Op]int // those of sessions that are over too
}

// Run starts a server for a test, and closes it when the test ends.
func Run(t testing.TB, opts ...ServerOption) *Server {
	t.Helper()
	s := New(opts...)
	t.Cleanup(s.Close)
	return s
}

// New starts a server with an empty tree. [Server.Close] ends it.
func New(opts ...ServerOption) *Server {
	s := &Server{
		cfg:      newServerConfig(opts),
		start:    time.Now(),
		tree:     tree.New(),
		sessions: make(map[int64]*session),
		lastID:   1 << 56, // ZooKeeper's have the server's number there
		requests: make(map[wire.Op]int),
		perSess:  make(map[int64]map[wire.Op]int),
	}
	s.rng = rand.New(rand.NewPCG(s.cfg.seed, 0))
	s.Door()
	return s
}

// Close closes every connection and port, and waits until no goroutine of the
// server is left. What the server holds can still be looked at. It must not be
// called from a function that was given to [Server.DropReply] or
// [Server.DropRequest]. Further calls do nothing.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.alarm != nil {
		s.alarm.Stop()
	}
	if s.reaper != nil {
		s.reaper.Stop()
	}
	for _, d := range s.doors {
		d.close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// first is the door that Addr and Dial are of. It is what the others take for
// their leader.
func (s *Server) first() *Door { return s.allDoors()[0] }

func (s *Server) allDoors() []*Door {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.doors)
}

// since is the server's own clock.
func (s *Server) since() time.Duration { return time.Since(s.start) }

func (s *Server) log(msg string, args ...any) {
	if s.cfg.log != nil {
		s.cfg.log.Log(context.Background(), slog.LevelDebug, msg, args...)
	}
}
