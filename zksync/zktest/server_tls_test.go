package zktest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func tlsConfig(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// pipes is a listener for connections without a network.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-l.incoming:
		return nc, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	close(l.closed)
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (l *pipes) dial(string, string, time.Duration) (net.Conn, error) {
	near, far := net.Pipe()
	l.incoming <- far
	return tls.Client(near, &tls.Config{InsecureSkipVerify: true}), nil
}

// A connection by TLS ends at once for a fault, although its client does not read the
// last word of TLS. In a bubble, who waits for that with the server's mutex stops the clock.
func TestTLSIsClosedAtOnce(t *testing.T) {
	config := tlsConfig(t)
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		go func() { _ = s.Serve(tls.NewListener(l, config)) }()
		c := rawDial(t, l.dial, "")
		if !c.hello(newSession) {
			t.Fatal("no session")
		}
		synctest.Wait() // while TLS writes, it leaves out its last word
		begin := time.Now()
		s.DisconnectAll()
		if took := time.Since(begin); took > 0 || s.Sessions()[0].Connected {
			t.Errorf("closed after %v: %+v", took, s.Sessions())
		}
		if !c.ends(time.Second) {
			t.Error("the connection stands")
		}
		// With an orderly end TLS has its last word, which is for the client alone to read.
		c = rawDial(t, l.dial, "")
		if !c.hello(newSession) {
			t.Fatal("no session")
		}
		s.Expire(c.hi.SessionID)
		if _, err := c.nc.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the end of a session: %v", err)
		}
	})
}

// The connections of a listener for TLS are refused by a reset, too.
func TestTLSRefuse(t *testing.T) {
	s, l := zktest.Run(t), listen(t)
	ended := make(chan error)
	go func() { ended <- s.Serve(tls.NewListener(l, tlsConfig(t))) }()
	s.Refuse()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err == nil { // else the reset has overtaken it
		defer nc.Close()
		_, err = nc.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v", err)
	}
	s.Heal()
	c := rawDial(t, func(string, string, time.Duration) (net.Conn, error) {
		return tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	}, "")
	if !c.hello(newSession) {
		t.Fatal("no session")
	}
	c.ok(wire.OpExists, "/", false)
	s.Close()
	must(t, <-ended)
}
