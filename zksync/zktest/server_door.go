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

// Door is what a client takes for one server of the ensemble: an address of its
// own, with faults of its own, on the tree that all doors of a [Server] share. A
// session may move from one to another.
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
	view      *tree.Tree  // what reads are answered from: srv.tree unless this door lags
	pending   []*tree.Txn // what view has not seen, oldest first
	lags      bool
	uncut     chan struct{} // not nil while cut from the leader, closed when that ends
	data      watchTable
	child     watchTable
	conns     map[*conn]struct{}
	leaving   map[*conn]struct{} // those that are only written to
	number    int                // of connections there were
	listener  net.Listener
	addr      string
	refuse    bool
	dropReply func(Request) bool
	dropReq   func(Request) bool
}

// network is what happens on the way to and from a door. It is replaced, never
// changed.
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
// call opens the port, which stays until [Server.Close]; it panics where no port
// can be had. On a closed server it is empty unless there was one.
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
		if err != nil { // of that one connection, as far as can be known
			time.Sleep(time.Millisecond)
			continue
		}
		if d.enter(nc) != nil {
			nc.Close()
		}
	}
}

// Dial connects to the door within the process, whatever the network and the
// address, at once: it does what a Dialer of go-zookeeper does, and what
// [net.DialTimeout] does. go-zookeeper looks names up before it dials, so give it
// an IP address. The error is that of a refused connection, syscall.ECONNREFUSED,
// after [Server.Refuse] and [Server.Close].
func (d *Door) Dial(network, address string, _ time.Duration) (net.Conn, error) {
	near, far := net.Pipe()
	if err := d.enter(far); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return near, nil
}

// enter takes a connection, unless the door is shut.
func (d *Door) enter(nc net.Conn) error {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	if d.srv.closed || d.refuse {
		return syscall.ECONNREFUSED
	}
	d.serve(nc)
	return nil
}

// list is the connections in the order in which they came. srv.mu is held.
func (d *Door) list() []*conn {
	all := make([]*conn, 0, len(d.conns))
	for c := range d.conns {
		all = append(all, c)
	}
	slices.SortFunc(all, byNumber)
	return all
}

// close ends it all. srv.mu is held.
func (d *Door) close() {
	if d.listener != nil {
		d.listener.Close()
	}
	d.setNetwork(func(n *network) { n.holdIn, n.holdOut = nil, nil })
	for c := range d.conns {
		c.cut()
	}
	// Those that are only being written to are not listed any more.
	for c := range d.leaving {
		c.cut()
	}
}

// setNetwork replaces what happens on the way. srv.mu is held.
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

// gate is not nil while frames in one direction are held.
func (d *Door) gate(out bool) <-chan struct{} {
	n := d.net.Load()
	if out {
		return n.holdOut
	}
	return n.holdIn
}

// lag is how much later the next frame arrives.
func (d *Door) lag() time.Duration {
	n := d.net.Load()
	if n.latency <= 0 {
		return n.delay
	}
	d.rngMu.Lock()
	defer d.rngMu.Unlock()
	return n.delay + time.Duration(d.rng.Int64N(int64(n.latency)))
}
