package zksync_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The lessons that need a moment which a real server gives only by chance are
// taught by one in memory, in virtual time: nothing is waited for, and a test
// runs the same each time.

// virtualTimeout is the session timeout in virtual time, where it costs nothing.
const virtualTimeout = 9 * time.Second

// inVirtualTime runs a test in a bubble, with a server.
func inVirtualTime(t *testing.T, f func(t *testing.T, srv *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, zktest.Run(t)) })
}

// via opens a session through a dialer, until the end of the test.
func via(t *testing.T, dial zk.Dialer, opts ...zksync.Option) *zksync.Session {
	t.Helper()
	return dialTo(t, []string{"10.0.0.1"}, append([]zksync.Option{
		zksync.WithDialer(dial), zksync.WithSessionTimeout(virtualTimeout), tellsLine()}, opts...)...)
}

// nodesOf are the full paths of the nodes that a session has.
func nodesOf(srv *zktest.Server, session int64) []string {
	for _, info := range srv.Sessions() {
		if info.ID == session {
			return info.Ephemerals
		}
	}
	return nil
}

// nobodyIn checks that no node is left below p once s is at rest.
func nobodyIn(t *testing.T, srv *zktest.Server, s *zksync.Session, p string) {
	t.Helper()
	atRest(t, s)
	if left := srv.Children(p); len(left) != 0 {
		t.Errorf("left below %s: %v", p, left)
	}
}

// asks reports, for [zktest.Server.DropReply], requests of one kind.
func asks(op string) func(zktest.Request) bool {
	return func(r zktest.Request) bool { return r.Op == op }
}

// once reports true the first time that f does.
func once(f func(zktest.Request) bool) func(zktest.Request) bool {
	was := false
	return func(r zktest.Request) bool {
		is := !was && f(r)
		was = was || is
		return is
	}
}

// opSetWatches is the kind of request that sets watches again.
const opSetWatches = 101

// tapFrame is a frame on its way. The payload of connect frames has no header:
// op and xid are zero.
type tapFrame struct {
	conn       int // counted from 1
	fromServer bool
	op         int32 // of a request; 0 of what comes from the server
	xid        int32 // -1: an event
	payload    []byte
}

// event returns the type and the path of a watch event; "" for other frames.
func (f tapFrame) event() (zk.EventType, string) {
	const head, kind = 16, 8 // the reply's header; type and state
	if !f.fromServer || f.xid != -1 || len(f.payload) < head+kind+4 {
		return 0, ""
	}
	b := f.payload[head:]
	return zk.EventType(binary.BigEndian.Uint32(b)), string(b[kind+4:])
}

// tapAct is what becomes of a frame.
type tapAct int

const (
	tapPass tapAct = iota
	tapDrop
	tapCut // the frame is lost, with the connection
)

// tap is a dialer that shows each frame to a function, which decides about it
// and may keep it waiting, with all that come after it in its direction. In
// contrast to a [zktest.Proxy] it lives in a bubble.
type tap struct {
	to zk.Dialer

	mu   sync.Mutex
	n    int                     // guarded by mu; connections so far
	hook func(f tapFrame) tapAct // guarded by mu
}

// on has f called for each frame from now on, by several goroutines.
func (w *tap) on(f func(f tapFrame) tapAct) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = f
}

func (w *tap) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	server, err := w.to(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	w.mu.Lock()
	w.n++
	n := w.n
	w.mu.Unlock()
	go w.carry(server, far, n, false)
	go w.carry(far, server, n, true)
	return near, nil
}

// carry brings the frames of one direction over, until either end is closed.
func (w *tap) carry(dst, src net.Conn, n int, fromServer bool) {
	defer dst.Close()
	defer src.Close()
	for first := true; ; first = false {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(src, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(src, frame[4:]); err != nil {
			return
		}
		f := tapFrame{conn: n, fromServer: fromServer, payload: frame[4:]}
		if !first {
			f.xid = int32(binary.BigEndian.Uint32(f.payload))
			if !fromServer {
				f.op = int32(binary.BigEndian.Uint32(f.payload[4:]))
			}
		}
		w.mu.Lock()
		hook := w.hook
		w.mu.Unlock()
		act := tapPass
		if hook != nil {
			act = hook(f)
		}
		switch act {
		case tapDrop:
			continue
		case tapCut:
			return
		}
		if _, err := dst.Write(frame); err != nil {
			return
		}
	}
}
