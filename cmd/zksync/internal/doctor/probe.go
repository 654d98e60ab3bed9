package doctor

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// link is a plain connection to a server.
type link struct {
	net.Conn
	expires  time.Time     // of the server's certificate
	patience time.Duration // with each request
	stop     func() bool
}

// end closes the connection.
func (l *link) end() {
	l.stop()
	l.Close()
}

// open connects to a server within d.Patience. The connection ends with ctx.
func (d *Doctor) open(ctx context.Context, addr string) (*link, error) {
	within, cancel := context.WithTimeout(ctx, d.Patience)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(within, "tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: nc, patience: d.Patience}
	if d.TLS != nil {
		conf := d.TLS.Clone()
		if conf.ServerName == "" {
			conf.ServerName, _, _ = net.SplitHostPort(addr)
		}
		c := tls.Client(nc, conf)
		if err := c.HandshakeContext(within); err != nil {
			nc.Close()
			return nil, &tlsError{err}
		}
		l.Conn = c
		for _, cert := range c.ConnectionState().PeerCertificates {
			if l.expires.IsZero() || cert.NotAfter.Before(l.expires) {
				l.expires = cert.NotAfter
			}
		}
	}
	l.stop = context.AfterFunc(ctx, func() { nc.Close() })
	return l, nil
}

// tlsError is an error of the TLS handshake.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return "TLS: " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

var (
	// errSilent means that a server ended the connection instead of giving a session.
	errSilent = errors.New("it closes the connection without an answer")
	// errStrange means that something answers that is no ZooKeeper, or not in the open.
	errStrange = errors.New("its answer is not that of a ZooKeeper")
)

// The numbers of ZooKeeper's protocol that a probe needs.
const (
	opPing  = 11
	opClose = -11
	xidPing = -2
)

// shake opens a ZooKeeper session on a connection, and returns the session timeout that
// the server grants.
func (l *link) shake(timeout time.Duration) (granted time.Duration, err error) {
	request := make([]byte, 49) // length, version, zxid, timeout, session, password, readOnly
	binary.BigEndian.PutUint32(request, 45)
	binary.BigEndian.PutUint32(request[16:], uint32(min(timeout.Milliseconds(), 1<<31-1)))
	binary.BigEndian.PutUint32(request[28:], 16)
	l.hurry()
	if _, err := l.Write(request); err != nil {
		return 0, silent(err)
	}
	answer, err := l.frame()
	if err != nil {
		return 0, silent(err)
	}
	if len(answer) < 16 {
		return 0, errStrange
	}
	granted = time.Duration(binary.BigEndian.Uint32(answer[4:])) * time.Millisecond
	if granted == 0 {
		return 0, errors.New("it refuses a new session")
	}
	return granted, nil
}

// silent returns errSilent for an error that means that the other end has closed the
// connection.
func silent(err error) error {
	if errors.Is(err, net.ErrClosed) || isTimeout(err) || errors.Is(err, errStrange) {
		return err // ctx has ended, or there was no answer yet, or there was one
	}
	return errSilent
}

// hurry gives the next request its time.
func (l *link) hurry() { _ = l.SetDeadline(time.Now().Add(l.patience)) } // if it fails, so does the request

// ping makes a round trip to the server alone.
func (l *link) ping() error { return l.call(xidPing, opPing) }

// endSession ends the session, so that the servers need not wait for it to time out.
func (l *link) endSession() error { return l.call(1, opClose) }

func (l *link) call(xid, op int32) error {
	request := make([]byte, 12)
	binary.BigEndian.PutUint32(request, 8)
	binary.BigEndian.PutUint32(request[4:], uint32(xid))
	binary.BigEndian.PutUint32(request[8:], uint32(op))
	l.hurry()
	if _, err := l.Write(request); err != nil {
		return err
	}
	_, err := l.frame()
	return err
}

// frame reads an answer.
func (l *link) frame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(l, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<16 { // far more than any answer to a probe
		return nil, errStrange
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(l, answer)
	return answer, err
}

// probe finds out about one server what needs no credentials.
func (d *Doctor) probe(ctx context.Context, s *Server) {
	began := time.Now()
	l, err := d.open(ctx, s.Address)
	if err != nil {
		var t *tlsError
		if errors.As(err, &t) {
			s.State, s.notTLS = NotServing, isNotTLS(err)
		}
		s.Error, s.cause = d.explain(err), err
		return
	}
	defer l.end()
	s.Connect, s.CertExpires = time.Since(began).Seconds(), l.expires
	s.State = NotServing
	granted, err := l.shake(d.Timeout)
	if err == nil {
		s.State, s.Granted = Serving, granted.Seconds()
		s.Read, _, _ = d.median(ctx, l.ping) // the writes tell whether it answers
		_ = l.endSession()                   // else it times out
	} else {
		s.Error, s.cause = d.explain(err), err
	}
	d.askAll(ctx, s)
	s.noTLS = d.TLS == nil && len(s.Words) == 0 && (errors.Is(err, errSilent) || errors.Is(err, errStrange))
}

// isNotTLS reports whether the other end does not speak TLS at all.
func isNotTLS(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// limits finds the shortest and the longest session timeout that a server grants.
func (d *Doctor) limits(ctx context.Context, addr string) (shortest, longest time.Duration) {
	ask := func(timeout time.Duration) time.Duration {
		l, err := d.open(ctx, addr)
		if err != nil {
			return 0
		}
		defer l.end()
		granted, err := l.shake(timeout)
		if err != nil {
			return 0
		}
		_ = l.endSession()
		return granted
	}
	return ask(time.Millisecond), ask(1 << 31 * time.Millisecond)
}

// isTimeout reports whether d.Patience was over.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// explain returns an error for a person, without the address, which stands beside it.
func (d *Doctor) explain(err error) string {
	if isTimeout(err) {
		return fmt.Sprintf("no answer within %v", d.Patience)
	}
	var t *tlsError
	var op *net.OpError
	if !errors.As(err, &t) && errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}
