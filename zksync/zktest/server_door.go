package zktest

import (
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

// Door is one server of the ensemble, as clients see it. It has its own address
// and its own faults, and shares the tree with all doors of its [Server]. A session
// may move from one door to another.
//
// The zero value is not usable: use [Server.Door]. It must not be copied. Its
// methods may be called from several goroutines.
type Door struct {
	srv   *Server
	index int

	net atomic.Pointer[network]

	rngMu sync.Mutex
	rng   *rand.Rand // guarded by rngMu

	// Guarded by srv.mu.
	view      *tree.Tree  // answers reads: srv.tree unless this door lags
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

// network describes the way to and from a door. It is replaced, never changed.
type network struct {
	holdIn, holdOut chan struct{} // not nil while that direction is held; closed when that ends
	delay, latency  time.Duration
}

// Door adds a door to the server, without faults.
func (s *Server) Door() *Door {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &Door{
		srv: s, index: len(s.doors), view: s.tree,
		data: make(watchTable), child: make(watchTable), conns: make(map[*conn]struct{}),
		leaving: make(map[*conn]struct{}),
		rng:     rand.New(rand.NewPCG(s.cfg.seed, uint64(len(s.doors))+1)),
	}
	d.net.Store(&network{})
	s.doors = append(s.doors, d)
	return d
}

// Addr is [Door.Addr] of the server's first door.
func (s *Server) Addr() string { return s.first().Addr() }

// Dial is [Door.Dial] of the server's first door.
func (s *Server) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	return s.first().Dial(network, address, timeout)
}

// Addr returns the address of the door, a loopback address and port. The first
// call opens the port, which stays open until [Server.Close]. It panics if it can't
// open a port. On a closed server the address is empty if no call came before.
func (d *Door) Addr() string {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	if d.addr != "" || d.srv.closed {
		return d.addr
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("zksync: zktest: " + err.Error())
	}
	d.listener, d.addr = l, l.Addr().String()
	d.srv.wg.Go(func() { d.accept(l) })
	return d.addr
}

func (d *Door) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // probably of that one connection
			time.Sleep(time.Millisecond)
			continue
		}
		if d.enter(nc) != nil {
			nc.Close()
		}
	}
}

// Dial connects to the door within the process, at once. It ignores the network
// and the address, and it can be used as a Dialer of go-zookeeper or in place of
// [net.DialTimeout]. go-zookeeper looks names up before it dials, so give it an IP
// address. After [Server.Refuse] and [Server.Close] the error is that of a refused
// connection, syscall.ECONNREFUSED.
func (d *Door) Dial(network, address string, _ time.Duration) (net.Conn, error) {
	near, far := net.Pipe()
	if err := d.enter(far); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return near, nil
}

// enter takes a connection, unless the server is closed or the door refuses it.
func (d *Door) enter(nc net.Conn) error {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	if d.srv.closed || d.refuse {
		return syscall.ECONNREFUSED
	}
	d.serve(nc)
	return nil
}

// list returns the connections in the order in which they came. The caller holds
// srv.mu.
func (d *Door) list() []*conn {
	all := make([]*conn, 0, len(d.conns))
	for c := range d.conns {
		all = append(all, c)
	}
	slices.SortFunc(all, byNumber)
	return all
}

// close closes the port and all connections. The caller holds srv.mu.
func (d *Door) close() {
	if d.listener != nil {
		d.listener.Close()
	}
	d.setNetwork(func(n *network) { n.holdIn, n.holdOut = nil, nil })
	for c := range d.conns {
		c.cut()
	}
	// A connection that is only written to is not in conns any more.
	for c := range d.leaving {
		c.cut()
	}
}

// setNetwork replaces the network by a changed copy. The caller holds srv.mu.
func (d *Door) setNetwork(change func(*network)) {
	old := d.net.Load()
	n := *old
	change(&n)
	d.net.Store(&n)
	if old.holdIn != nil && n.holdIn == nil {
		close(old.holdIn)
	}
	if old.holdOut != nil && n.holdOut == nil {
		close(old.holdOut)
	}
}

// gate returns a channel that is closed when frames in one direction may pass
// again, or nil if they may pass now.
func (d *Door) gate(out bool) <-chan struct{} {
	n := d.net.Load()
	if out {
		return n.holdOut
	}
	return n.holdIn
}

// lag returns how much later the next frame arrives.
func (d *Door) lag() time.Duration {
	n := d.net.Load()
	if n.latency <= 0 {
		return n.delay
	}
	d.rngMu.Lock()
	defer d.rngMu.Unlock()
	return n.delay + time.Duration(d.rng.Int64N(int64(n.latency)))
}
