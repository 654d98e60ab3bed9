package suite

import (
	"net"
	"slices"
	"sync"
	"time"
)

// Wires is a dialer that counts its connections and can make their writes fail. The
// zero value dials TCP.
type Wires struct {
	mu    sync.Mutex
	dials []string                            // guarded by mu; addresses asked for
	write func(conn int, frame []byte) error  // guarded by mu; before each write
	Open  func(addr string) (net.Conn, error) // guarded by mu; nil: TCP
}

// Dial is the dialer.
func (w *Wires) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, addr)
	n, open := len(w.dials), w.Open
	w.mu.Unlock()
	if open == nil {
		open = func(addr string) (net.Conn, error) { return net.DialTimeout(network, addr, timeout) }
	}
	c, err := open(addr)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c, w: w, n: n}, nil
}

// Count is the number of dials so far.
func (w *Wires) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dials)
}

// Addrs are the addresses asked for so far.
func (w *Wires) Addrs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dials)
}

// OnWrite has f called before each write, with the number of the connection,
// counted from 1. An error is the write's.
func (w *Wires) OnWrite(f func(conn int, frame []byte) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write = f
}

// wire is one connection of wires.
type wire struct {
	net.Conn
	w *Wires
	n int
}

// Write writes, unless the test has an error for it.
func (c *wire) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	f := c.w.write
	c.w.mu.Unlock()
	if f != nil {
		if err := f(c.n, b); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}
