package relay

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const soon = 10 * time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pair is a relay to a server of the test, and one connection through it.
type pair struct {
	*Relay
	target         net.Listener
	client, server net.Conn
}

func newPair(t *testing.T, pump Pump) *pair {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	r, err := New(l.Addr().String(), 0, func() Pump { return pump })
	must(t, err)
	t.Cleanup(r.Close)
	p := &pair{Relay: r, target: l}
	p.client, p.server = p.connect(t), accept(t, l)
	return p
}

func (p *pair) connect(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	return limited(t, c)
}

func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := l.Accept()
	must(t, err)
	return limited(t, c)
}

func limited(t *testing.T, c net.Conn) net.Conn {
	t.Helper()
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(soon)))
	return c
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	must(t, err)
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v, want %q", got, err, want)
	}
}

// silent reports that nothing arrives for a moment.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	must(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if n, err := c.Read(make([]byte, 9)); n != 0 || !isTimeout(err) {
		t.Fatalf("heard %d bytes, %v, want silence", n, err)
	}
	must(t, c.SetReadDeadline(time.Now().Add(soon)))
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// ended waits for the end of a connection.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); isTimeout(err) {
		t.Fatal("the connection goes on")
	}
}

func TestBothDirectionsPass(t *testing.T) {
	p := newPair(t, Copy)
	say(t, p.client, "question")
	hear(t, p.server, "question")
	say(t, p.server, "answer")
	hear(t, p.client, "answer")
	// A side that has said all may still hear the rest.
	must(t, p.client.(*net.TCPConn).CloseWrite())
	ended(t, p.server)
	say(t, p.server, "the rest")
	hear(t, p.client, "the rest")
	if p.Open() != 1 {
		t.Errorf("%d connections", p.Open())
	}
	p.server.Close()
	ended(t, p.client)
}

// What is held arrives later, and the other direction does not notice.
func TestHold(t *testing.T) {
	p := newPair(t, Copy)
	p.Hold(true, false)
	say(t, p.client, "held")
	silent(t, p.server)
	say(t, p.server, "answer")
	hear(t, p.client, "answer")
	p.Hold(false, true)
	hear(t, p.server, "held")
	say(t, p.server, "held too")
	silent(t, p.client)
	p.Hold(false, false)
	hear(t, p.client, "held too")
}

// While the way to the target is held, connections are taken, and the target
// hears nothing of them.
func TestHoldHidesNewConnections(t *testing.T) {
	p := newPair(t, Copy)
	p.Hold(true, false)
	c := p.connect(t)
	say(t, c, "hello")
	must(t, p.target.(*net.TCPListener).SetDeadline(time.Now().Add(50*time.Millisecond)))
	if _, err := p.target.Accept(); !isTimeout(err) {
		t.Fatalf("the target was reached: %v", err)
	}
	must(t, p.target.(*net.TCPListener).SetDeadline(time.Now().Add(soon)))
	p.Hold(false, false)
	hear(t, accept(t, p.target), "hello")
}

func TestCutAndRefuse(t *testing.T) {
	p := newPair(t, Copy)
	p.Refuse(true)
	ended(t, p.connect(t))
	say(t, p.client, "stands")
	hear(t, p.server, "stands")
	p.Refuse(false)
	p.Hold(true, true)
	say(t, p.client, "lost")
	p.Cut() // held or not
	ended(t, p.client)
	ended(t, p.server)
	p.Hold(false, false)
	c := p.connect(t)
	say(t, c, "again")
	hear(t, accept(t, p.target), "again")
}

// A pump's error ends both directions, and each connection has a number and a pump
// of its own.
func TestPumps(t *testing.T) {
	p := newPair(t, func(c *Conn, d Direction) error {
		if d == ToServer {
			return Copy(c, d)
		}
		src, _ := c.Ends(d)
		if _, err := io.ReadFull(src, make([]byte, 1)); err != nil {
			return err
		}
		if err := c.Write(d, []byte{byte('0' + c.Number())}); err != nil {
			return err
		}
		return errors.New("that was all")
	})
	other := p.connect(t)
	say(t, other, "hello")
	otherServer := accept(t, p.target)
	hear(t, otherServer, "hello")
	say(t, otherServer, "x")
	hear(t, other, "2")
	ended(t, other)
	ended(t, otherServer)
	say(t, p.server, "x")
	hear(t, p.client, "1")
	ended(t, p.client)
}

// A target that is not there yet is asked again for as long as there is patience.
func TestPatience(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	l.Close()
	for _, patience := range []time.Duration{0, soon} {
		r, err := New(addr, patience, func() Pump { return Copy })
		must(t, err)
		defer r.Close()
		c, err := net.Dial("tcp", r.Addr())
		must(t, err)
		limited(t, c)
		if patience == 0 {
			ended(t, c)
			continue
		}
		l, err := net.Listen("tcp", addr)
		must(t, err)
		defer l.Close()
		say(t, c, "late")
		hear(t, accept(t, l), "late")
	}
}

func TestCloseEndsAll(t *testing.T) {
	p := newPair(t, Copy)
	p.Hold(true, true)
	waiting := p.connect(t)
	p.Close()
	p.Close()
	ended(t, p.client)
	ended(t, p.server)
	ended(t, waiting)
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	if p.Open() != 0 {
		t.Errorf("%d connections", p.Open())
	}
}
