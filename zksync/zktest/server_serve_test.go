package zktest_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A listener of the test's may end before the server; its connections stay.
func TestServeUntilTheListenerIsClosed(t *testing.T) {
	srv := zktest.Run(t)
	l := listen(t)
	ended := make(chan error, 1)
	go func() { ended <- srv.Member(0).Serve(l) }()
	conn, _ := client(t, dialTo(l.Addr()), 10*time.Second)
	must(t, l.Close())
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returns %v", err)
	}
	create(t, conn, "/a", 0)
	if nc, err := net.Dial("tcp", l.Addr().String()); err == nil {
		nc.Close()
		t.Error("the port is open after its listener was closed")
	}
}

// Close closes the listeners, and one that comes later.
func TestServeUntilClose(t *testing.T) {
	srv := zktest.New()
	l, more := listen(t), listen(t)
	ended := make(chan error, 2)
	for _, l := range []net.Listener{l, more} {
		go func() { ended <- srv.Serve(l) }()
		client(t, dialTo(l.Addr()), 10*time.Second)
	}
	srv.Close()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("Serve returns %v after Close", err)
		}
	}
	late := listen(t)
	if err := srv.Serve(late); err != nil {
		t.Errorf("Serve returns %v on a closed server", err)
	}
	if err := late.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the late listener was left open: %v", err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func dialTo(addr net.Addr) dialer {
	return func(string, string, time.Duration) (net.Conn, error) { return net.Dial("tcp", addr.String()) }
}

// fakeListener has whatever errors a test gives it, and says in its own words that it is
// closed.
type fakeListener struct {
	net.Listener
	errs   chan error
	closed chan struct{}
	gone   error // what Accept returns once it is closed
}

func newFakeListener(gone error) *fakeListener {
	return &fakeListener{errs: make(chan error), closed: make(chan struct{}), gone: gone}
}

// errOfOne is an error of one connection.
var errOfOne = &net.OpError{Op: "accept", Err: syscall.ECONNABORTED}

func (l *fakeListener) Accept() (net.Conn, error) {
	select {
	case err := <-l.errs:
		return nil, err
	case <-l.closed:
		return nil, l.gone
	}
}

func (l *fakeListener) Close() error {
	close(l.closed)
	return nil
}

// A listener need not say net.ErrClosed when it is closed.
func TestCloseWithAListenerOfItsOwnErrors(t *testing.T) {
	for _, gone := range []error{errors.New("gone"), errOfOne} {
		s, l := zktest.New(), newFakeListener(gone)
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(l) }()
		l.errs <- errOfOne // so Serve has begun
		s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve returns %v after Close", err)
		}
	}
}

// Serve goes on after an error of one connection, and ends with a lasting one.
func TestServeEndsWithALastingError(t *testing.T) {
	s, l := zktest.Run(t), newFakeListener(nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	l.errs <- errOfOne
	broken := errors.New("broken")
	l.errs <- broken
	if err := <-ended; err != broken {
		t.Errorf("Serve returns %v", err)
	}
	<-l.closed
}
