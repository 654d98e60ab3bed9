package sim

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// silent is a logger that says nothing.
type silent struct{}

func (silent) Printf(string, ...any) {}

// connect makes a client of the process's own, and waits for its session.
func (p *process) connect() *zk.Conn {
	dial := func(network, addr string, d time.Duration) (net.Conn, error) {
		c, err := p.dial(network, addr, d)
		if err != nil {
			return nil, err
		}
		return &ownConn{Conn: c, watched: make(chan struct{})}, nil
	}
	client, _, err := zk.Connect([]string{"10.0.0.1", "10.0.0.2"}, p.w.slowest(), zk.WithDialer(dial),
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	for client.State() != zk.StateHasSession {
		time.Sleep(10 * time.Millisecond)
	}
	return client
}

// ownConn keeps a client from a data race of its own: after a reconnect it reads
// the last zxid for its SetWatches while answers change that (go-zookeeper's
// conn.go, sendSetWatches and recvLoop). It reads on when these have been sent.
type ownConn struct {
	net.Conn
	once    sync.Once
	watched chan struct{} // closed with SetWatches
	read    int           // bytes, of the first frame
	head    [4]byte       // its length
}

// setWatches is the request's number in ZooKeeper's protocol.
const setWatches = 101

func (c *ownConn) Write(b []byte) (int, error) {
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == setWatches {
		c.once.Do(func() { close(c.watched) })
	}
	return c.Conn.Write(b)
}

func (c *ownConn) Read(b []byte) (int, error) {
	first := c.read < len(c.head) || c.read < len(c.head)+int(binary.BigEndian.Uint32(c.head[:]))
	if !first {
		select {
		case <-c.watched:
		case <-time.After(time.Millisecond): // there is no watch to set again
			c.once.Do(func() { close(c.watched) })
		}
		return c.Conn.Read(b)
	}
	n, err := c.Conn.Read(b)
	if c.read < len(c.head) {
		copy(c.head[c.read:], b[:n])
	}
	c.read += n
	return n, err
}
