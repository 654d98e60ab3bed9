package zktest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// Member is one server of the ensemble, as clients see it. It has its own address
// and its own [Faults], and shares the tree with all members of its [Server]. A
// session may move from one member to another.
//
// The zero value is not usable: use [Server.Member] or [Server.AddMember]. It must
// not be copied. Its methods may be called from several goroutines.
type Member struct {
	Faults

	index int

	net atomic.Pointer[network]

	rngMu sync.Mutex
	rng   *rand.Rand // guarded by rngMu

	// Guarded by srv.mu.
	view      *tree.Tree  // answers reads: srv.tree unless this member lags
	pending   []*tree.Txn // not yet in view, oldest first
	lags      bool
	uncut     chan struct{} // not nil while cut from the leader, closed when that ends
	data      watchTable
	child     watchTable
	conns     map[*conn]struct{}
	leaving   map[*conn]struct{} // connections that are only written to
	number    int                // connections so far
	listener  net.Listener
	addr      string
	refuse    bool
	dropReply func(Request) bool
	dropReq   func(Request) bool
}

// network describes the way to and from a member. It is replaced, never changed.
type network struct {
	holdIn, holdOut chan struct{} // not nil while that direction is held; closed when that ends
	delay, jitter   time.Duration
}

// Member returns member i, from 0. A new server has the first one only. Member
// panics, as an index of a slice does, if there is no member i.
func (s *Server) Member(i int) *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[i]
}

// AddMember adds a member to the server, without faults, and returns it.
func (s *Server) AddMember() *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Member{
		Faults: Faults{srv: s}, index: len(s.members), view: s.tree,
		data: make(watchTable), child: make(watchTable), conns: make(map[*conn]struct{}),
		leaving: make(map[*conn]struct{}),
		rng:     rand.New(rand.NewPCG(s.cfg.seed, uint64(len(s.members))+1)),
	}
	m.of = m
	m.net.Store(&network{})
	s.members = append(s.members, m)
	return m
}

// Addr is [Member.Addr] of the first member.
func (s *Server) Addr() string { return s.Member(0).Addr() }

// Dial is [Member.Dial] of the first member.
func (s *Server) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	return s.Member(0).Dial(network, address, timeout)
}

// DialContext is [Member.DialContext] of the first member.
func (s *Server) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return s.Member(0).DialContext(ctx, network, address)
}

// Addr returns the address of the member, a loopback address and port. The first
// call opens the port, which stays open until [Server.Close]. It panics if it can't
// open a port. On a closed server the address is empty if no call came before.
func (m *Member) Addr() string {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	if m.addr != "" || m.srv.closed {
		return m.addr
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("zksync: zktest: " + err.Error())
	}
	m.listener, m.addr = l, l.Addr().String()
	m.srv.wg.Go(func() { m.accept(l) })
	return m.addr
}

func (m *Member) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // probably of that one connection
			time.Sleep(time.Millisecond)
			continue
		}
		if m.enter(nc) != nil {
			nc.Close()
		}
	}
}

// Dial is [Member.DialContext] in the form of [net.DialTimeout], which
// go-zookeeper's WithDialer takes. It ignores the timeout.
func (m *Member) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	return m.DialContext(context.Background(), network, address)
}

// DialContext connects to the member within the process, at once, in the form of
// [net.Dialer.DialContext]. It ignores the network and the address. go-zookeeper looks
// names up before it dials, so give it an IP address. The error is a [net.OpError].
// After [Faults.Refuse] and [Server.Close] it wraps that of a refused connection,
// syscall.ECONNREFUSED; with a ctx that is done it wraps ctx.Err().
func (m *Member) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	err := ctx.Err()
	if err == nil {
		near, far := net.Pipe()
		if err = m.enter(far); err == nil {
			return near, nil
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: err}
}

// enter takes a connection, unless the server is closed or the member refuses it.
func (m *Member) enter(nc net.Conn) error {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	if m.srv.closed || m.refuse {
		return syscall.ECONNREFUSED
	}
	m.serve(nc)
	return nil
}

// list returns the connections in the order in which they came. The caller holds
// srv.mu.
func (m *Member) list() []*conn {
	all := make([]*conn, 0, len(m.conns))
	for c := range m.conns {
		all = append(all, c)
	}
	slices.SortFunc(all, byNumber)
	return all
}

// close closes the port and all connections. The caller holds srv.mu.
func (m *Member) close() {
	if m.listener != nil {
		m.listener.Close()
	}
	m.setNetwork(func(n *network) { n.holdIn, n.holdOut = nil, nil })
	for c := range m.conns {
		c.cut()
	}
	// A connection that is only written to is not in conns any more.
	for c := range m.leaving {
		c.cut()
	}
}

// setNetwork replaces the network by a changed copy. The caller holds srv.mu.
func (m *Member) setNetwork(change func(*network)) {
	old := m.net.Load()
	n := *old
	change(&n)
	m.net.Store(&n)
	if old.holdIn != nil && n.holdIn == nil {
		close(old.holdIn)
	}
	if old.holdOut != nil && n.holdOut == nil {
		close(old.holdOut)
	}
}

// gate returns a channel that is closed when frames in one direction may pass
// again, or nil if they may pass now.
func (m *Member) gate(out bool) <-chan struct{} {
	n := m.net.Load()
	if out {
		return n.holdOut
	}
	return n.holdIn
}

// lag returns how much later the next frame arrives.
func (m *Member) lag() time.Duration {
	n := m.net.Load()
	if n.jitter <= 0 {
		return n.delay
	}
	m.rngMu.Lock()
	defer m.rngMu.Unlock()
	return n.delay + time.Duration(m.rng.Int64N(int64(n.jitter)))
}
