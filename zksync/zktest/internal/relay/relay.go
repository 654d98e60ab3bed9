// Package relay passes TCP connections on to a target, and makes a faulty network
// of itself: it holds traffic back, cuts connections and refuses new ones.
//
// It knows nothing of what it carries. A [Pump] copies one direction of one
// connection; it may read the traffic, and decide what goes on.
package relay

import (
	"fmt"
	"io"
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

// Conn is one connection through a relay: the client's half and, once the target
// was reached, the server's. The zero value is not usable. It must not be copied.
// Its methods may be called from several goroutines; only the pump of a direction
// reads and writes there.
type Conn struct {
	relay  *Relay
	pump   Pump
	number int64
	client net.Conn
	server net.Conn // set before the pumps start
	done   chan struct{}
	once   sync.Once
}

// New listens on a free loopback port. newPump is called once a connection; the
// pump that it returns is called twice, each time on a goroutine of its own. A
// target that refuses a connection is asked again until patience has passed.
func New(target string, patience time.Duration, newPump func() Pump) (*Relay, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("zktest: proxy for %s: %w", target, err)
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

// Await returns true once the direction is open, and false when the connection
// ends first.
func (c *Conn) Await(d Direction) bool {
	for {
		c.relay.mu.Lock()
		held := c.relay.held[d]
		c.relay.mu.Unlock()
		if held == nil {
			select {
			case <-c.done:
				return false
			default:
				return true
			}
		}
		select {
		case <-held:
		case <-c.done:
			return false
		}
	}
}

// Number counts the connections of a relay from 1.
func (c *Conn) Number() int64 { return c.number }

func (c *Conn) serve() {
	defer func() {
		c.close()
		c.relay.mu.Lock()
		delete(c.relay.conns, c)
		c.relay.mu.Unlock()
	}()
	// The first packet of a connection is lost like any other: the target
	// learns nothing of it while its direction is held.
	if !c.Await(ToServer) {
		return
	}
	server, err := c.dial()
	if err != nil {
		return
	}
	defer server.Close()
	c.server = server
	// close looks at client and done only, so that server needs no lock: the
	// deferred Close above comes after both pumps.
	var pumps sync.WaitGroup
	pumps.Go(func() {
		<-c.done
		server.Close()
	})
	pumps.Go(func() { c.run(ToServer) })
	c.run(ToClient)
	c.close()
	pumps.Wait()
}

// dial connects to the target, and tries again while there is patience.
func (c *Conn) dial() (net.Conn, error) {
	start := time.Now()
	for {
		server, err := net.DialTimeout("tcp", c.relay.target, dialTimeout)
		if err == nil || time.Since(start) >= c.relay.patience {
			return server, err
		}
		select {
		case <-c.done:
			return nil, net.ErrClosed
		case <-time.After(dialPause):
		}
	}
}

// run copies one direction. At its end the other side is told, and may still
// finish what it has to say; an error ends both directions.
func (c *Conn) run(d Direction) {
	if err := c.pump(c, d); err != nil || !c.Await(d) {
		c.close()
		return
	}
	_, dst := c.Ends(d)
	if half, ok := dst.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		c.close()
	}
}

// Ends returns the connection that a direction comes from, and the one that it
// goes to. The target's is nil before it was reached.
func (c *Conn) Ends(d Direction) (src, dst net.Conn) {
	if d == ToServer {
		return c.client, c.server
	}
	return c.server, c.client
}

// close ends the connection on both sides. It may be called repeatedly.
func (c *Conn) close() {
	c.once.Do(func() {
		close(c.done)
		c.client.Close()
	})
}

// Copy is the pump that looks at nothing.
func Copy(c *Conn, d Direction) error {
	src, _ := c.Ends(d)
	return c.CopyFrom(src, d)
}

// CopyFrom copies from src, which yields what comes in direction d, until its
// end, and returns nil there.
func (c *Conn) CopyFrom(src io.Reader, d Direction) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if !c.Await(d) {
			return net.ErrClosed
		}
		if n > 0 {
			if err := c.Write(d, buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Write sends what goes on in a direction.
func (c *Conn) Write(d Direction, b []byte) error {
	_, dst := c.Ends(d)
	_, err := dst.Write(b)
	return err
}
