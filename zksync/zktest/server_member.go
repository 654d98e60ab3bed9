package zktest

import (
	"context"
	"errors"
	"net"
	"slices"
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
	way   // to and from all of its clients

	// Guarded by srv.mu.
	view      *tree.Tree  // answers reads: srv.tree unless this member lags
	pending   []*tree.Txn // not yet in view, oldest first
	lags      bool
	uncut     chan struct{} // not nil while cut from the leader, closed when that ends
	missed    bool          // an election, while cut
	data      watchTable
	child     watchTable
	recursive int // watches of that kind in both tables
	conns     map[*conn]struct{}
	bySession map[int64][]*conn  // those of conns that have a session
	leaving   map[*conn]struct{} // connections that are only written to
	number    int                // connections so far
	counts    counts
	listeners []net.Listener // those of Serve
	addr      string         // of the member's own port; empty while it has none
	port      net.Listener   // on addr; nil while the member refuses
	release   func()         // gives addr free for others
	refuse    bool
	dropReply func(Request) bool
	dropReq   func(Request) bool
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
		data: make(watchTable), child: make(watchTable), conns: make(map[*conn]struct{}), bySession: make(map[int64][]*conn),
		leaving: make(map[*conn]struct{}), way: newWay(),
	}
	m.of = m
	m.newCounts()
	s.members = append(s.members, m)
	s.describe(m)
	s.weigh()
	return m
}

// Serve is [Member.Serve] of the first member.
func (s *Server) Serve(l net.Listener) error { return s.Member(0).Serve(l) }

// Dial is [Member.Dial] of the first member.
func (s *Server) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	return s.Member(0).Dial(network, address, timeout)
}

// DialContext is [Member.DialContext] of the first member.
func (s *Server) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return s.Member(0).DialContext(ctx, network, address)
}

// Serve accepts connections from l too, until l is closed or [Server.Close] closes l, or
// l has another error that is not temporary. It returns nil after Server.Close, else the
// error of l, and closes l. It is for TLS
// ([crypto/tls.NewListener]) and for other networks than TCP; [Member.Listen] is for a
// TCP address of the caller's choice. The member owns l. On a closed server Serve closes
// l and returns nil. The member can't close l and open it again, so after
// [Faults.Refuse] it resets the connections from l as soon as they are made.
func (m *Member) Serve(l net.Listener) error {
	m.srv.mu.Lock()
	closed := m.srv.closed
	if !closed {
		m.listeners = append(m.listeners, l)
		m.srv.wg.Add(1)
		defer m.srv.wg.Done()
	}
	m.srv.mu.Unlock()
	if closed {
		l.Close()
		return nil
	}
	err := m.accept(l)
	if !m.remove(l) {
		return nil
	}
	if !errors.Is(err, net.ErrClosed) {
		l.Close()
	}
	return err
}

// remove takes out a listener. It reports false, and does nothing, on a closed server.
func (m *Member) remove(l net.Listener) bool {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	if m.srv.closed {
		return false
	}
	m.listeners = slices.DeleteFunc(m.listeners, func(x net.Listener) bool { return x == l })
	return true
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
	return m.dial(ctx, network, nil)
}

// dial connects by a link, or directly if that is nil.
func (m *Member) dial(ctx context.Context, network string, by *Link) (net.Conn, error) {
	err := ctx.Err()
	if err == nil {
		near, far := net.Pipe()
		if err = m.enter(far, by); err == nil {
			return near, nil
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: err}
}

// enter takes a connection by a link, nil for none, unless the server is closed or the
// member or the link refuses it.
func (m *Member) enter(nc net.Conn, by *Link) error {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	if m.srv.closed || m.refuse || by != nil && by.refuse {
		return syscall.ECONNREFUSED
	}
	m.serve(nc, by)
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

// having returns the connections that have, or had, a session, in the order in which they
// came. There are several when the session moved to another member and back. The
// caller holds srv.mu.
func (m *Member) having(session int64) []*conn {
	all := slices.Clone(m.bySession[session])
	slices.SortFunc(all, byNumber)
	return all
}

// forget takes a connection out of conns. The caller holds srv.mu.
func (m *Member) forget(c *conn) {
	delete(m.conns, c)
	rest := slices.DeleteFunc(m.bySession[c.session], func(x *conn) bool { return x == c })
	if len(rest) > 0 {
		m.bySession[c.session] = rest
	} else {
		delete(m.bySession, c.session)
	}
}

// close closes the port and all connections. The caller holds srv.mu.
func (m *Member) close() {
	m.closePorts()
	m.setNetwork(func(n *network) { n.holdIn, n.holdOut = nil, nil })
	for c := range m.conns {
		c.cut()
	}
	// A connection that is only written to is not in conns any more.
	for c := range m.leaving {
		c.cut()
	}
}
