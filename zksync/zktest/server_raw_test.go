package zktest_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// rawConn is a client that sends given frames, and returns the answers.
type rawConn struct {
	t    testing.TB
	nc   net.Conn
	hi   wire.ConnectResponse
	xid  int32
	zxid int64           // of the last reply but those to auth
	dial func() *rawConn // to the same server; of both's clients
}

// rawDial connects through a member, or to an address where member is nil.
func rawDial(t testing.TB, dial func(network, address string, timeout time.Duration) (net.Conn, error), addr string) *rawConn {
	t.Helper()
	nc, err := dial("tcp", addr, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &rawConn{t: t, nc: nc}
}

// newSession asks for a new session of ten seconds.
var newSession = wire.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)}

// open is rawDial to a server in memory, and a new session of ten seconds.
func open(t testing.TB, s interface {
	Dial(network, address string, timeout time.Duration) (net.Conn, error)
}) *rawConn {
	t.Helper()
	c := rawDial(t, s.Dial, "")
	if !c.hello(wire.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)}) || c.hi.SessionID == 0 {
		t.Fatal("no session")
	}
	return c
}

// hello sends a connect request. It reports false when the connection is closed
// instead of an answer.
func (c *rawConn) hello(req wire.ConnectRequest) bool {
	c.t.Helper()
	c.write(wire.AppendFrame(nil, req.Append(nil)))
	frame := c.frame()
	if frame == nil {
		return false
	}
	var err error
	if c.hi, err = wire.ParseConnectResponse(frame); err != nil {
		c.t.Fatal(err)
	}
	return true
}

// again is a connect request for the session that c has.
func (c *rawConn) again() wire.ConnectRequest {
	return wire.ConnectRequest{Timeout: 10_000, SessionID: c.hi.SessionID, Password: c.hi.Password}
}

// write sends bytes. What is wrong with the connection shows when it is read.
func (c *rawConn) write(b []byte) { _, _ = c.nc.Write(b) }

// frame returns the next payload, nil at the end of the connection.
func (c *rawConn) frame() []byte {
	frame, err := wire.ReadFrame(c.nc, nil, 4<<20)
	if err != nil {
		return nil
	}
	return frame[wire.FrameHeader:]
}

// body builds the body of a request. Null strings are written as nil.
func body(parts ...any) []byte {
	var e wire.Encoder
	for _, p := range parts {
		switch p := p.(type) {
		case nil:
			e.Int32(-1)
		case int:
			e.Int32(int32(p))
		case int64:
			e.Int64(p)
		case bool:
			e.Bool(p)
		case string:
			e.String(p)
		case []byte:
			e.Buffer(p)
		case []string:
			e.Strings(p)
		case []wire.ACL:
			e.ACLs(p)
		case wire.MultiHeader:
			e.MultiHeader(p)
		case raw:
			e.Buf = append(e.Buf, p...)
		default:
			panic(fmt.Sprintf("zksync: no encoding of %T", p))
		}
	}
	return e.Buf
}

type raw []byte

func op(t wire.Op, parts ...any) raw {
	return append(body(wire.MultiHeader{Type: t, Err: -1}), body(parts...)...)
}

var end = wire.MultiHeader{Type: -1, Done: true, Err: -1}

var open31 = []wire.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}

// send sends a request without waiting for the answer.
func (c *rawConn) send(op wire.Op, parts ...any) int32 {
	c.t.Helper()
	c.xid++
	c.sendXid(c.xid, op, parts...)
	return c.xid
}

func (c *rawConn) sendXid(xid int32, op wire.Op, parts ...any) {
	c.t.Helper()
	payload := append(wire.RequestHeader{Xid: xid, Op: op}.Append(nil), body(parts...)...)
	c.write(wire.AppendFrame(nil, payload))
}

// reply is one frame from the server.
type reply struct {
	wire.ReplyHeader
	body   []byte
	closed bool
}

func (c *rawConn) recv() reply {
	c.t.Helper()
	frame := c.frame()
	if frame == nil {
		return reply{closed: true}
	}
	h, b, err := wire.ParseReplyHeader(frame)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{ReplyHeader: h, body: b}
}

// do sends a request and returns the events before its answer, as text, and the
// answer.
func (c *rawConn) do(op wire.Op, parts ...any) (reply, string) {
	c.t.Helper()
	xid := c.send(op, parts...)
	var events []string
	for {
		r := c.recv()
		if r.closed || r.Xid == xid || r.Xid == wire.XidPing && op == wire.OpPing {
			if r.Zxid != 0 {
				c.zxid = r.Zxid
			}
			return r, strings.Join(events, " ")
		}
		if r.Xid != wire.XidEvent {
			c.t.Fatalf("reply with xid %d to request %d", r.Xid, xid)
		}
		events = append(events, eventText(c.t, r.body))
	}
}

// ok is do for what has to succeed.
func (c *rawConn) ok(op wire.Op, parts ...any) wire.Decoder {
	c.t.Helper()
	r, _ := c.do(op, parts...)
	if r.closed || r.Err != wire.CodeOK {
		c.t.Fatalf("%v: closed %v, %v", op, r.closed, r.Err)
	}
	return wire.NewDecoder(r.body)
}

// create makes a node, and returns its path.
func (c *rawConn) create(path string, flags int) string {
	c.t.Helper()
	d := c.ok(wire.OpCreate, path, []byte("x"), open31, flags)
	return d.String()
}

func (c *rawConn) stat(path string) wire.Stat {
	c.t.Helper()
	d := c.ok(wire.OpExists, path, false)
	return d.Stat()
}

func eventText(t testing.TB, b []byte) string {
	t.Helper()
	ev, err := wire.ParseEvent(b)
	if err != nil || ev.State != wire.StateConnected {
		t.Fatalf("event %+v, %v", ev, err)
	}
	names := map[int32]string{1: "created", 2: "deleted", 3: "changed", 4: "children"}
	return names[ev.Type] + ":" + ev.Path
}

// both runs a test on a server in memory and on a real ZooKeeper, which may be 3.9
// or later.
func both(t *testing.T, f func(t *testing.T, connect func() *rawConn, since39 bool)) {
	t.Helper()
	bothWith(t, nil, nil, f)
}

// bothWith is both for servers with options.
func bothWith(t *testing.T, memory []zktest.Option, real []ensemble.Option, f func(t *testing.T, connect func() *rawConn, since39 bool)) {
	t.Helper()
	session := func(t *testing.T, dial func() *rawConn) *rawConn {
		c := dial()
		c.dial = dial
		if !c.hello(wire.ConnectRequest{Timeout: 10_000, Password: make([]byte, 16)}) {
			t.Fatal("no session")
		}
		return c
	}
	t.Run("memory", func(t *testing.T) {
		s := zktest.Run(t, memory...)
		f(t, func() *rawConn { return session(t, func() *rawConn { return rawDial(t, s.Dial, "") }) }, false)
	})
	t.Run("real", func(t *testing.T) {
		e := ensemble.Run(t, 1, real...)
		keepAwake(t, dialTCP(e.Addr(0)))
		f(t, func() *rawConn { return session(t, func() *rawConn { return rawDial(t, net.DialTimeout, e.Addr(0)) }) }, isSince39(t, e))
	})
}
