package measure

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Meter counts what its connections carry. Its zero value dials TCP. It must not be
// copied, and may be used by several goroutines.
type Meter struct {
	// TLS, if not nil, puts TLS on each connection, below what is counted.
	TLS *tls.Config
	// Dialer replaces TCP if it is not nil.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	requests, events, sent, received atomic.Int64
}

// Counts is what a meter has counted, or the difference of two such counts.
type Counts struct {
	Requests int64 // without those that belong to the session: connect, auth, ping, close, watches set again
	Events   int64 // watch events that came
	Sent     int64 // bytes, those of all frames
	Received int64
}

// Minus returns the difference of two counts.
func (c Counts) Minus(d Counts) Counts {
	return Counts{c.Requests - d.Requests, c.Events - d.Events, c.Sent - d.Sent, c.Received - d.Received}
}

// Count returns what the connections have carried so far.
func (m *Meter) Count() Counts {
	return Counts{m.requests.Load(), m.events.Load(), m.sent.Load(), m.received.Load()}
}

// DialContext opens a connection that is counted. A server's certificate has to be for
// the name in addr, unless the configuration names another one.
func (m *Meter) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := m.Dialer
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	raw, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if m.TLS == nil {
		return m.wrap(raw), nil
	}
	cfg := m.TLS.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return m.wrap(conn), nil
}

// Dial is DialContext as go-zookeeper's client takes it.
func (m *Meter) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return m.DialContext(ctx, network, addr)
}

// wrap returns c with its frames counted. The first frame in each direction connects the
// session.
func (m *Meter) wrap(c net.Conn) net.Conn {
	w := &counted{Conn: c, m: m}
	w.out = scanner{head: 12, told: -1, frame: func(head []byte) {
		if locks(int32(binary.BigEndian.Uint32(head[8:]))) {
			m.requests.Add(1)
		}
	}}
	w.in = scanner{head: 8, told: -1, frame: func(head []byte) {
		if int32(binary.BigEndian.Uint32(head[4:])) == -1 {
			m.events.Add(1)
		}
	}}
	return w
}

// locks reports whether a request is one for a lock, and not for its session: ping,
// auth, setWatches, setWatches2, closeSession.
func locks(op int32) bool {
	switch op {
	case 11, 100, 101, 105, -11:
		return false
	}
	return true
}

type counted struct {
	net.Conn
	m       *Meter
	out, in scanner // each is used by one goroutine at a time
}

// SyscallConn shows that the connection is a socket, as it does without a meter: the library
// writes to a socket in the caller's goroutine.
func (c *counted) SyscallConn() (syscall.RawConn, error) { return c.Conn.(*net.TCPConn).SyscallConn() }

func (c *counted) Write(b []byte) (int, error) {
	c.m.sent.Add(int64(len(b)))
	c.out.feed(b) // before the answer can come
	return c.Conn.Write(b)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.received.Add(int64(n))
	c.in.feed(b[:n])
	return n, err
}

// scanner finds frames in a stream that comes in pieces, and shows the first bytes of
// each to a function.
type scanner struct {
	head  int // how many bytes to show: the length, and what follows it
	frame func(head []byte)
	told  int // frames so far; -1 before the first one, which is not shown
	got   int // bytes of buf
	skip  int // bytes of the present frame behind those of buf
	buf   [12]byte
}

func (s *scanner) feed(b []byte) {
	for len(b) > 0 {
		if s.skip > 0 {
			n := min(len(b), s.skip)
			s.skip -= n
			b = b[n:]
			continue
		}
		n := copy(s.buf[s.got:s.head], b)
		s.got += n
		b = b[n:]
		if s.got < s.head {
			return
		}
		s.got = 0
		s.skip = max(0, int(binary.BigEndian.Uint32(s.buf[:]))-(s.head-4))
		if s.told >= 0 {
			s.frame(s.buf[:s.head])
		}
		s.told++
	}
}
