package relay

import (
	"io"
	"net"
	"sync"
	"time"
)

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
