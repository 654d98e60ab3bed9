package zktest

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// direction is one of the two ways through a relay.
type direction int

const (
	toServer direction = iota
	toClient
)

const dialTimeout = 5 * time.Second

// relay passes TCP connections on to a target and can stop doing so. Its methods
// may be called from several goroutines.
type relay struct {
	target   string
	pump     func(c *relayConn, d direction) error // copies one direction until it ends
	patience time.Duration                         // how long a target may take to open its port
	ln       net.Listener
	wg       sync.WaitGroup // accept, and two goroutines a connection

	mu     sync.Mutex
	conns  map[*relayConn]struct{} // guarded by mu
	held   [2]chan struct{}        // guarded by mu; nil: that direction is open. Closed when it opens
	refuse bool                    // guarded by mu
	closed bool                    // guarded by mu
	count  int64                   // guarded by mu; connections accepted so far
}

// relayConn is one connection through a relay: the client's half and, once the
// target was reached, the server's.
type relayConn struct {
	relay  *relay
	number int64
	client net.Conn
	server net.Conn // set before the pumps start
	done   chan struct{}
	once   sync.Once

	mu      sync.Mutex
	pending map[int32]int32 // guarded by mu; opcodes of requests not yet answered, by xid
}

// newRelay listens on a free loopback port. pump is called twice a connection,
// each time on a goroutine of its own.
func newRelay(target string, patience time.Duration, pump func(*relayConn, direction) error) (*relay, error) {
	ln, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return nil, fmt.Errorf("zktest: proxy for %s: %w", target, err)
	}
	r := &relay{
		target:   target,
		pump:     pump,
		patience: patience,
		ln:       ln,
		conns:    make(map[*relayConn]struct{}),
	}
	r.wg.Go(r.accept)
	return r, nil
}

func (r *relay) addr() string { return r.ln.Addr().String() }

func (r *relay) accept() {
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
		c := &relayConn{
			relay:   r,
			number:  r.count,
			client:  client,
			done:    make(chan struct{}),
			pending: make(map[int32]int32),
		}
		r.conns[c] = struct{}{}
		r.wg.Go(c.serve)
		r.mu.Unlock()
	}
}

// hold stops or opens the two directions. What is on its way in a direction that
// is stopped stays there, as in a network that loses packets.
func (r *relay) hold(serverward, clientward bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d, stop := range [2]bool{toServer: serverward, toClient: clientward} {
		switch {
		case stop && r.held[d] == nil:
			r.held[d] = make(chan struct{})
		case !stop && r.held[d] != nil:
			close(r.held[d])
			r.held[d] = nil
		}
	}
}

// setRefuse has new connections closed as soon as they are accepted, or not.
func (r *relay) setRefuse(refuse bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// cut closes every connection.
func (r *relay) cut() {
	r.mu.Lock()
	conns := make([]*relayConn, 0, len(r.conns))
	for c := range r.conns {
		conns = append(conns, c)
	}
	r.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
}

func (r *relay) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

// close ends everything and waits for the goroutines.
func (r *relay) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ln.Close()
	r.cut()
	r.wg.Wait()
}

// await returns true once the direction is open, and false when the connection
// ends first.
func (c *relayConn) await(d direction) bool {
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

func (c *relayConn) serve() {
	defer func() {
		c.close()
		c.relay.mu.Lock()
		delete(c.relay.conns, c)
		c.relay.mu.Unlock()
	}()
	// The first packet of a connection is lost like any other: the target
	// learns nothing of it while its direction is held.
	if !c.await(toServer) {
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
	pumps.Go(func() { c.run(toServer) })
	c.run(toClient)
	c.close()
	pumps.Wait()
}

// dial connects to the target, and tries again while there is patience.
func (c *relayConn) dial() (net.Conn, error) {
	start := time.Now()
	for {
		server, err := net.DialTimeout("tcp", c.relay.target, dialTimeout)
		if err == nil || time.Since(start) >= c.relay.patience {
			return server, err
		}
		select {
		case <-c.done:
			return nil, net.ErrClosed
		case <-time.After(poll):
		}
	}
}

// run copies one direction. At its end the other side is told, and may still
// finish what it has to say; an error ends both directions.
func (c *relayConn) run(d direction) {
	if err := c.relay.pump(c, d); err != nil || !c.await(d) {
		c.close()
		return
	}
	_, dst := c.ends(d)
	if half, ok := dst.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		c.close()
	}
}

func (c *relayConn) ends(d direction) (src, dst net.Conn) {
	if d == toServer {
		return c.client, c.server
	}
	return c.server, c.client
}

// close ends the connection on both sides. It may be called repeatedly.
func (c *relayConn) close() {
	c.once.Do(func() {
		close(c.done)
		c.client.Close()
	})
}

// copyBytes is the pump that looks at nothing.
func copyBytes(c *relayConn, d direction) error {
	src, _ := c.ends(d)
	return c.copyFrom(src, d)
}

// copyFrom copies from src, which yields what comes in direction d, until its
// end, and returns nil there.
func (c *relayConn) copyFrom(src io.Reader, d direction) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if !c.await(d) {
			return net.ErrClosed
		}
		if n > 0 {
			if err := c.write(d, buf[:n]); err != nil {
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

func (c *relayConn) write(d direction, b []byte) error {
	_, dst := c.ends(d)
	_, err := dst.Write(b)
	return err
}
