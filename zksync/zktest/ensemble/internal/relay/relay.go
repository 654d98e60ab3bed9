// Package relay passes TCP connections on to a target, and makes a faulty network
// of itself: it holds traffic back, cuts connections and refuses new ones.
//
// It knows nothing of what it carries. A [Pump] copies one direction of one
// connection; it may read the traffic, and decide what goes on.
package relay

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction is one of the two ways through a relay.
type Direction int

// The two ways.
const (
	ToServer Direction = iota
	ToClient
)

const (
	dialTimeout = 5 * time.Second
	dialPause   = 10 * time.Millisecond // between two attempts
)

// Pump copies one direction of a connection until it ends. After an error both
// directions end.
type Pump func(c *Conn, d Direction) error

// Relay passes TCP connections on to a target and can stop doing so. The zero
// value is not usable: use [New]. It must not be copied. Its methods may be called
// from several goroutines.
type Relay struct {
	target   string
	newPump  func() Pump
	patience time.Duration // how long a target may take to open its port
	ln       net.Listener
	wg       sync.WaitGroup // accept, and two goroutines a connection

	mu     sync.Mutex
	conns  map[*Conn]struct{} // guarded by mu
	held   [2]chan struct{}   // guarded by mu; nil: that direction is open. Closed when it opens
	refuse bool               // guarded by mu
	closed bool               // guarded by mu
	count  int64              // guarded by mu; connections accepted so far
}

// New listens on a free loopback port. newPump is called once a connection; the
// pump that it returns is called twice, each time on a goroutine of its own. A
// target that refuses a connection is asked again until patience has passed.
func New(target string, patience time.Duration, newPump func() Pump) (*Relay, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("ensemble: proxy for %s: %w", target, err)
	}
	r := &Relay{
		target:   target,
		newPump:  newPump,
		patience: patience,
		ln:       ln,
		conns:    make(map[*Conn]struct{}),
	}
	r.wg.Go(r.accept)
	return r, nil
}

// Addr returns the address that clients connect to. It never changes.
func (r *Relay) Addr() string { return r.ln.Addr().String() }

func (r *Relay) accept() {
	for {
		client, err := r.ln.Accept()
		if err != nil {
			return // closed
		}
		r.mu.Lock()
		if r.refuse || r.closed {
			r.mu.Unlock()
			client.Close()
			continue
		}
		r.count++
		c := &Conn{
			relay:  r,
			pump:   r.newPump(),
			number: r.count,
			client: client,
			done:   make(chan struct{}),
		}
		r.conns[c] = struct{}{}
		r.wg.Go(c.serve)
		r.mu.Unlock()
	}
}

// Hold stops or opens the two directions. What is on its way in a direction that
// is stopped stays there, as in a network that loses packets.
func (r *Relay) Hold(serverward, clientward bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d, stop := range [2]bool{ToServer: serverward, ToClient: clientward} {
		switch {
		case stop && r.held[d] == nil:
			r.held[d] = make(chan struct{})
		case !stop && r.held[d] != nil:
			close(r.held[d])
			r.held[d] = nil
		}
	}
}

// Refuse has new connections closed as soon as they are accepted, or not.
func (r *Relay) Refuse(refuse bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// Cut closes every connection that stands.
func (r *Relay) Cut() {
	r.mu.Lock()
	conns := make([]*Conn, 0, len(r.conns))
	for c := range r.conns {
		conns = append(conns, c)
	}
	r.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
}

// Open returns the number of connections that stand.
func (r *Relay) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

// Close ends everything and waits until no goroutine is left. Further calls do
// nothing.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ln.Close()
	r.Cut()
	r.wg.Wait()
}
