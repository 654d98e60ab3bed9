package conn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// maxFrame bounds an answer. It is far above what servers send, as a list of a million
// children has to arrive: a limit ends the connection, and a request whose answer is
// larger would be repeated for ever.
const maxFrame = 128 << 20

// keepFrame bounds the buffer that is kept from one frame to the next.
const keepFrame = 16 << 10

// framed stands between the client and the socket. Each of its tasks meets a defect
// of the client that the package's comment names. It passes only whole and well-formed
// frames to the client, because others crash the client's decoder. It bounds the
// handshake, whose second half the client reads without a deadline. It sends the
// credentials within the handshake, because the client can lock up when it sends them.
// It keeps the last zxid in place of the client, because the client sets its watches
// again as of the wrong one. It carries the requests of this package beside those of
// the client (see pipe), and takes their answers out.
type framed struct {
	net.Conn          // TCP or TLS
	raw      net.Conn // TCP
	l        *link
	addr     string
	limit    time.Duration // for the handshake
	pipe     *pipe
	buffers  bool // raw is a socket: a write that fits into its buffers does not block

	br  *bufio.Reader
	in  []byte // the frame that the client is reading, with its length before it
	off int    // how much of in the client has read

	mu       sync.Mutex
	ready    bool             // the handshake is over
	failed   bool             // counted as a failed try
	deadline time.Time        // the client's read deadline
	ops      map[int32]sentOp // requests of the client without an answer
	request  wire.ConnectRequest
	sent     time.Time // when the connect request was sent
}

// sentOp is a request of the client.
type sentOp struct {
	op   wire.Op
	size int   // of the frame
	cred *Auth // that the request adds, if it adds one
}

func newFramed(l *link, raw, conn net.Conn, addr string, limit time.Duration) *framed {
	f := &framed{Conn: conn, raw: raw, l: l, addr: addr, limit: limit,
		br: bufio.NewReader(conn), ops: make(map[int32]sentOp)}
	_, f.buffers = raw.(syscall.Conn)
	f.pipe = newPipe(f)
	return f
}

var errCut = errors.New("the connection was given up")

// cut closes the socket itself: closing TLS would try to send an alert first. It ends
// the pipe, too, because a client that has locked up does not read any more.
func (f *framed) cut() {
	f.raw.Close()
	f.pipe.fail(errCut)
}

func (f *framed) Close() error {
	f.fail(errors.New("closed during the handshake"))
	f.pipe.fail(net.ErrClosed)
	return f.Conn.Close()
}

// SetWriteDeadline does nothing. The client sets and removes a deadline around each of
// its writes, which would be the deadline of the pipe's writes as well. The pipe has a
// shorter one, and the handshake too.
func (f *framed) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline keeps the client's deadline until after the handshake. For the
// handshake the client sets 6.67 T, and no deadline for its second half.
func (f *framed) SetReadDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deadline = t
	if !f.ready {
		return nil
	}
	return f.Conn.SetReadDeadline(t)
}

// Write sends one of the client's frames. The client writes each with a single call.
func (f *framed) Write(p []byte) (int, error) {
	if len(p) < wire.FrameHeader {
		return f.Conn.Write(p)
	}
	payload := p[wire.FrameHeader:]
	f.mu.Lock()
	if f.sent.IsZero() {
		f.sent = time.Now()
		_ = f.Conn.SetReadDeadline(f.sent.Add(f.limit))
		_ = f.Conn.SetWriteDeadline(f.sent.Add(f.limit))
		p = bytes.Clone(p)
		payload = p[wire.FrameHeader:]
		wire.SetLastZxidSeen(payload, f.l.seen.Load())
		f.request, _ = wire.ParseConnectRequest(payload)
		f.mu.Unlock()
		return f.Conn.Write(p)
	}
	size := 0
	if h, body, err := wire.ParseRequestHeader(payload); err == nil && h.Xid >= 0 {
		size = len(p)
		op := sentOp{op: h.Op, size: size}
		switch h.Op {
		case wire.OpAuth:
			op.cred = credential(body)
		case wire.OpSetWatches:
			// The client writes the zxid of its last answer. That answer may have
			// come after the events that were missed, and the servers would not
			// send these again. The zxid of the connect request is right.
			p = bytes.Clone(p)
			wire.SetRelativeZxid(p[wire.FrameHeader:], f.request.LastZxidSeen)
		}
		f.ops[h.Xid] = op
	}
	f.mu.Unlock()
	n, err := f.pipe.pass(p, size)
	f.l.grow() // the client does not use its buffer while it writes
	return n, err
}

func (f *framed) Read(p []byte) (int, error) {
	if f.off == len(f.in) {
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.in[f.off:])
	f.off += n
	return n, nil
}

// fill reads the next frame for the client. Answers to our own requests are not for
// the client.
func (f *framed) fill() error {
	f.mu.Lock()
	ready := f.ready
	f.mu.Unlock()
	buf := f.in
	f.in, f.off = nil, 0
	for {
		if cap(buf) > keepFrame {
			buf = nil // free the memory of a long list
		}
		frame, err := wire.ReadFrame(f.br, buf, maxFrame)
		ours := false
		if err == nil {
			f.l.heard.Store(time.Now().UnixNano())
			if payload := frame[wire.FrameHeader:]; ready {
				ours, err = f.check(payload)
			} else {
				err = f.handshake(payload)
			}
		}
		switch {
		case err != nil:
			f.fail(err)
			f.pipe.fail(err)
			return err
		case !ours:
			if ready && len(frame)-wire.FrameHeader > receiveBuffer {
				f.l.receives(0)
			}
			f.in = frame
			return nil
		}
		buf = frame
	}
}

// check refuses a frame that the client would misread, or that would crash it. It
// passes the answer to a request of ours on, and reports that it was one.
func (f *framed) check(payload []byte) (ours bool, err error) {
	h, body, err := wire.ParseReplyHeader(payload)
	if err == nil && h.Xid <= firstXid {
		f.l.see(h.Zxid, nil)
		ours, err = true, f.pipe.receive(h, body)
	} else if err == nil && h.Xid == wire.XidEvent {
		err = wire.CheckEvent(body)
	} else if err == nil && h.Xid >= 0 {
		f.l.see(h.Zxid, payload)
		f.mu.Lock()
		op, ok := f.ops[h.Xid]
		delete(f.ops, h.Xid)
		f.mu.Unlock()
		f.pipe.passed(op.size)
		if ok && h.Err == 0 {
			err = wire.CheckReply(op.op, body)
			f.l.remember(op.cred)
		}
	}
	if err != nil && f.pipe.failure() == nil {
		err = fmt.Errorf("malformed frame from %s: %w", f.addr, err)
		f.l.c.cfg.Logger.Warn("zksync: reconnecting", "error", err)
	}
	return ours, err
}

// handshake checks the answer to the connect request and sends the credentials.
func (f *framed) handshake(payload []byte) error {
	resp, err := wire.ParseConnectResponse(payload)
	if err == nil {
		err = resp.Check()
	}
	if err != nil {
		return fmt.Errorf("malformed answer to the connect request: %w", err)
	}
	if resp.SessionID == 0 {
		f.l.seen.Store(0) // as the client does: the next session has seen nothing
	} else if err := f.authenticate(); err != nil {
		return err
	}
	f.l.receives(receiveBuffer)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = true
	f.l.established(handshake{
		session: resp.SessionID,
		timeout: time.Duration(resp.Timeout) * time.Millisecond,
		fresh:   f.request.SessionID == 0,
		sent:    f.sent,
	})
	return f.Conn.SetReadDeadline(f.deadline)
}

// authenticate sends the credentials and waits for the answers. Those that the program
// has added to the client are sent, too. The client sends them again only after it has
// reported the session, and our requests would not wait for that.
func (f *framed) authenticate() error {
	for _, a := range f.l.credentials() {
		frame := wire.AppendFrame(nil, wire.AuthRequest(nil, a.Scheme, a.Cred))
		_ = f.Conn.SetWriteDeadline(time.Now().Add(f.limit))
		_, err := f.Conn.Write(frame)
		if err != nil {
			return fmt.Errorf("sending %s credentials: %w", a.Scheme, err)
		}
		reply, err := wire.ReadFrame(f.br, nil, keepFrame)
		if err != nil {
			return fmt.Errorf("no answer to %s credentials: %w", a.Scheme, err)
		}
		h, _, err := wire.ParseReplyHeader(reply[wire.FrameHeader:])
		if err != nil {
			return fmt.Errorf("malformed answer to %s credentials: %w", a.Scheme, err)
		}
		if h.Err != 0 {
			err := fmt.Errorf("%s credentials: %w", a.Scheme, zk.ErrAuthFailed)
			f.l.c.refused(fmt.Errorf("%s: %w", f.addr, err))
			return err
		}
	}
	return nil
}

// fail records, once, that the connection has ended before it had a session.
func (f *framed) fail(err error) {
	f.mu.Lock()
	count := !f.ready && !f.failed
	f.failed = f.failed || count
	f.mu.Unlock()
	if count {
		f.l.failed(f.addr, err)
	}
}
