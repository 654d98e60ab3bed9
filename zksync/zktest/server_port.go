package zktest

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Addr is [Member.Addr] of the first member.
func (s *Server) Addr() string { return s.Member(0).Addr() }

// Listen is [Member.Listen] of the first member.
func (s *Server) Listen(address string) error { return s.Member(0).Listen(address) }

// Addr returns the address of the member: the one that [Member.Listen] opened, else
// a port on 127.0.0.1 that the first call opens. The port stays the member's until
// [Server.Close], also while [Faults.Refuse] keeps it closed. Addr panics if it can't
// open a port, and in a synctest bubble, whose clock would stop. On a closed server the
// address is empty if the member had no port.
func (m *Member) Addr() string {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	if m.addr == "" && !m.srv.closed {
		if err := m.listen("127.0.0.1:0"); err != nil {
			panic("zksync: zktest: " + err.Error())
		}
	}
	return m.addr
}

// Listen opens the member's port at an address of the caller's choice, in the form of
// [net.Listen] for "tcp": "127.0.0.1:2181". Port 0 takes a free one. [Member.Addr] then
// returns this address. A member has one such port. Listen returns an error if the
// address can't be opened, if the member has a port already, and on a closed server. It
// panics in a synctest bubble, whose clock would stop. A test server lets everybody in, so
// open it to other machines with care.
func (m *Member) Listen(address string) error {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	switch {
	case m.srv.closed:
		return &net.OpError{Op: "listen", Net: "tcp", Err: net.ErrClosed}
	case m.addr != "":
		return fmt.Errorf("zktest: the member listens on %s already", m.addr)
	}
	return m.listen(address)
}

// listen opens the member's port. The caller holds srv.mu.
func (m *Member) listen(address string) error {
	if inBubble() {
		panic("zksync: zktest: Addr and Listen can't be used in a synctest bubble: a port stops its clock; connect by Server.Dial, as in zk.WithDialer(srv.Dial)")
	}
	address, release := reserveFree(address)
	l, err := net.Listen("tcp", address)
	if err != nil {
		release()
		return err
	}
	m.addr, m.release = l.Addr().String(), release
	m.srv.describe(m)
	if m.refuse {
		return l.Close()
	}
	m.open(l)
	return nil
}

// open accepts connections from the member's own listener. The caller holds srv.mu.
func (m *Member) open(l net.Listener) {
	m.port = l
	m.srv.wg.Go(func() { _ = m.accept(l) }) // ends with the listener
}

// shut makes the member refuse connections. The system refuses those to the member's
// own port, because nobody listens there any more. The caller holds srv.mu.
func (m *Member) shut() {
	m.refuse = true
	if m.port != nil {
		m.port.Close() // returns when the port is closed
		m.port = nil
	}
}

// unshut ends shut of all these members. It panics, and changes nothing, if one of their
// ports can't be opened. The caller holds srv.mu.
func unshut(members []*Member) {
	ports := make([]net.Listener, len(members))
	for i, m := range members {
		if m.addr == "" || m.port != nil || m.srv.closed {
			continue
		}
		l, err := net.Listen("tcp", m.addr)
		if err != nil {
			for _, l := range ports[:i] {
				if l != nil {
					l.Close()
				}
			}
			panic("zksync: zktest: " + err.Error())
		}
		ports[i] = l
	}
	for i, m := range members {
		if ports[i] != nil {
			m.open(ports[i])
		}
		m.refuse = false
	}
}

// closePorts closes all that the member listens on. The caller holds srv.mu.
func (m *Member) closePorts() {
	for _, l := range m.listeners {
		l.Close()
	}
	if m.port != nil {
		m.port.Close()
	}
	if m.release != nil {
		m.release()
		m.release = nil
	}
}

// accept takes connections from a listener, until that has a lasting error or the server
// is closed. The error of a listener that was closed may be any: not each wraps
// net.ErrClosed.
func (m *Member) accept(l net.Listener) error {
	for {
		nc, err := l.Accept()
		if err != nil {
			if !passing(err) || m.closed() {
				return err
			}
			time.Sleep(time.Millisecond)
			continue
		}
		if m.enter(nc, nil) != nil {
			reset(nc)
		}
	}
}

// passing reports whether a listener may go on after an error, such as one of a single
// connection, or a lack of file descriptors.
func passing(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}

func (m *Member) closed() bool {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	return m.srv.closed
}

// reset closes a connection that is refused after the system has accepted it. A reset
// tells the client sooner than an orderly end: its next read or write fails.
func reset(nc net.Conn) {
	nc = bare(nc)
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the end is an orderly one
	}
	nc.Close()
}

// reserveFree replaces port 0 of an address by a free port, and keeps other programs from
// that port until release is called, also while nobody listens on it. It leaves an
// address alone for which it can't do that.
func reserveFree(address string) (_ string, release func()) {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil || a.Port != 0 || a.IP.To4() == nil {
		return address, func() {}
	}
	port, release, err := reservePort([4]byte(a.IP.To4()))
	if err != nil {
		return address, func() {}
	}
	return (&net.TCPAddr{IP: a.IP, Port: port}).String(), release
}
