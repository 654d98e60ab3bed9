//go:build zkcompare

package zktest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// answerTimeout bounds each wait for a frame: far above what a loaded machine
// needs, since a server that says nothing is a difference too.
const answerTimeout = 10 * time.Second

// compareConn is one connection to a server, spoken to frame by frame. Whoever
// uses it reads when something is due: it has no goroutine.
type compareConn struct {
	net.Conn
	in     *bufio.Reader
	buf    []byte
	xid    int32
	ready  bool // has a session
	nudged int  // pings whose answers nobody waits for
}

// dialRaw connects and says what the server answers to the connect request. The
// connection is nil when the answer is no session.
func dialRaw(dial func() (net.Conn, error), req wire.ConnectRequest) (*compareConn, wire.ConnectResponse, string) {
	nc, err := dial()
	if err != nil {
		return nil, wire.ConnectResponse{}, "dial: " + err.Error()
	}
	c := &compareConn{Conn: nc, in: bufio.NewReader(nc)}
	if err := c.send(req.Append(nil)); err != nil {
		nc.Close()
		return nil, wire.ConnectResponse{}, readError(err)
	}
	payload, err := c.frame()
	if err != nil {
		nc.Close()
		return nil, wire.ConnectResponse{}, readError(err)
	}
	answer, err := wire.ParseConnectResponse(payload)
	if err != nil {
		nc.Close()
		return nil, answer, err.Error()
	}
	answer.Password = slices.Clone(answer.Password)
	zeros := !slices.ContainsFunc(answer.Password, func(b byte) bool { return b != 0 })
	text := fmt.Sprintf("connected: protocol %d, timeout %d, session %t, password of %d bytes (zeros %t), readOnly %t %t, %d bytes",
		answer.ProtocolVersion, answer.Timeout, answer.SessionID != 0, len(answer.Password), zeros,
		answer.HasReadOnly, answer.ReadOnly, len(payload))
	if answer.SessionID == 0 {
		_, err := c.frame()
		nc.Close()
		return nil, answer, text + ", " + readError(err)
	}
	c.ready = true
	return c, answer, text
}

func (c *compareConn) send(payloads ...[]byte) error {
	var out []byte
	for _, p := range payloads {
		out = wire.AppendFrame(out, p)
	}
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	_, err := c.Write(out)
	return err
}

// frame returns the next frame's payload, good until the next call.
func (c *compareConn) frame() ([]byte, error) {
	if err := c.await(); err != nil {
		return nil, err
	}
	buf, err := wire.ReadFrame(c.in, c.buf, 4<<20)
	if err != nil {
		return nil, err
	}
	c.buf = buf
	return buf[wire.FrameHeader:], nil
}

// await waits until a frame begins. A real server of an ensemble now and then
// leaves a request lying until another one comes (once in some ten thousand
// steps with three sessions): so another one is sent.
func (c *compareConn) await() error {
	for deadline := time.Now().Add(answerTimeout); ; c.nudged++ {
		wait := nudgeAfter
		if !c.ready {
			wait = answerTimeout
		}
		if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		_, err := c.in.Peek(1)
		if !errors.Is(err, os.ErrDeadlineExceeded) || !c.ready || time.Now().After(deadline) {
			return errors.Join(err, c.SetDeadline(time.Now().Add(answerTimeout)))
		}
		if err := c.send(wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing}.Append(nil)); err != nil {
			return err
		}
		compareNudges.Add(1)
	}
}

// nudgeAfter is how long an answer may take before await helps.
const nudgeAfter = 500 * time.Millisecond

var compareNudges atomic.Int64

const noAnswer = "NO ANSWER"

// readError tells apart a connection that the server has closed, in whichever
// way the network says so, and one on which nothing comes.
func readError(err error) string {
	switch {
	case err == nil:
		return "ANOTHER FRAME"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return noAnswer
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	}
	return err.Error()
}

// decodeBody is what follows the header of a reply to op, as text. In a multi
// the results say themselves what they are.
func decodeBody(n *namer, op wire.Op, path string, body []byte) string {
	d := wire.NewDecoder(body)
	text := decodeRecord(n, &d, op, path)
	if err := d.Err(); err != nil {
		return fmt.Sprintf("UNREADABLE %x", body)
	}
	if d.Len() > 0 {
		text += fmt.Sprintf(" and %d bytes more", d.Len())
	}
	return text
}

func decodeRecord(n *namer, d *wire.Decoder, op wire.Op, path string) string {
	switch op {
	case wire.OpCreate, wire.OpSync:
		return fmt.Sprintf("%q", d.String())
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return fmt.Sprintf("%q %s", d.String(), n.stat(path, d.Stat()))
	case wire.OpExists, wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		return n.stat(path, d.Stat())
	case wire.OpGetData:
		data := d.Buffer()
		return fmt.Sprintf("%.20q null=%t %s", data, data == nil, n.stat(path, d.Stat()))
	case wire.OpGetACL:
		return fmt.Sprintf("%v %s", d.ACLs(), n.stat(path, d.Stat()))
	case wire.OpGetChildren:
		return n.children(path, d.Strings())
	case wire.OpGetChildren2:
		return n.children(path, d.Strings()) + " " + n.stat(path, d.Stat())
	case wire.OpAddWatch:
		return fmt.Sprint(d.Int32())
	case wire.OpMulti:
		return decodeResults(n, d)
	}
	return ""
}

func decodeResults(n *namer, d *wire.Decoder) string {
	var out strings.Builder
	for h := d.MultiHeader(); d.Err() == nil; h = d.MultiHeader() {
		fmt.Fprintf(&out, "{%v %t %v", h.Type, h.Done, h.Err)
		if h.Done {
			out.WriteString("}")
			break
		}
		switch h.Type {
		case wire.OpError:
			fmt.Fprintf(&out, " %v", wire.Code(d.Int32()))
		case wire.OpDelete, wire.OpCheck:
		default:
			out.WriteString(" " + decodeRecord(n, d, h.Type, "?"))
		}
		out.WriteString("}")
	}
	return out.String()
}

// namer turns what differs between two servers that do the same into what does
// not: zxids count from the sequence's first transaction, sessions have the
// order of their creation, and the root has only what happened to it since.
type namer struct {
	base     int64
	sessions map[int64]int
	root     string
	top      wire.Stat // of "/" when the sequence began
}

func (n *namer) zxid(z int64) string {
	switch {
	case z <= 0:
		return fmt.Sprint(z)
	case z < n.base:
		return "old"
	}
	return fmt.Sprintf("+%d", z-n.base)
}

func (n *namer) owner(id int64) string {
	if i, ok := n.sessions[id]; ok {
		return fmt.Sprintf("S%d", i)
	}
	return fmt.Sprintf("%#x", uint64(id))
}

func (n *namer) stat(path string, s wire.Stat) string {
	times := "1970"
	if s.Ctime != 0 || s.Mtime != 0 {
		times = fmt.Sprintf("modified=%t now=%t", s.Mtime >= s.Ctime,
			max(time.Since(time.UnixMilli(s.Ctime)).Abs(), time.Since(time.UnixMilli(s.Mtime)).Abs()) < time.Hour)
	}
	// An empty path means the root to a server that does not check it.
	if path == "/" || path == "" {
		s.Version -= n.top.Version
		s.Cversion -= n.top.Cversion
		s.Aversion -= n.top.Aversion
		s.NumChildren -= n.top.NumChildren
		times = ""
	}
	return fmt.Sprintf("[c%s m%s p%s v%d cv%d av%d %s len%d n%d %s]", n.zxid(s.Czxid), n.zxid(s.Mzxid), n.zxid(s.Pzxid),
		s.Version, s.Cversion, s.Aversion, n.owner(s.EphemeralOwner), s.DataLength, s.NumChildren, times)
}

func (n *namer) children(path string, list []string) string {
	if path == "/" || path == "" {
		list = slices.DeleteFunc(list, func(name string) bool { return "/"+name != n.root })
	}
	slices.Sort(list) // ZooKeeper gives them in the order of a hash table
	return fmt.Sprint(list)
}
