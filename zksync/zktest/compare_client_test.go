package zktest_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// answerTimeout bounds each wait for a frame: far above what a loaded machine
// needs, since a server that says nothing is a difference too.
const answerTimeout = 50 * time.Second

// compareConn is one connection to a server, spoken to frame by frame. Whoever
// uses it reads when something is due: it has no goroutine.
type compareConn struct {
	net.Conn
	in  *bufio.Reader
	buf []byte
	xid int32

	challenge []byte // the last token of the server
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
	text := connectText(answer, len(payload))
	if answer.SessionID == 0 {
		_, err := c.frame()
		nc.Close()
		return nil, answer, text + ", " + readError(err)
	}
	return c, answer, text
}

// connectText is an answer to a connect request, of so many bytes.
func connectText(answer wire.ConnectResponse, size int) string {
	zeros := !slices.ContainsFunc(answer.Password, func(b byte) bool { return b != 0 })
	return fmt.Sprintf("connected: protocol %d, timeout %d, session %t, password of %d bytes (zeros %t), readOnly %t %t, %d bytes",
		answer.ProtocolVersion, answer.Timeout, answer.SessionID != 0, len(answer.Password), zeros,
		answer.HasReadOnly, answer.ReadOnly, size)
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
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	buf, err := wire.ReadFrame(c.in, c.buf, 4<<20)
	if err != nil {
		return nil, err
	}
	c.buf = buf
	return buf[wire.FrameHeader:], nil
}

const noAnswer = "NO ANSWER"

// readError distinguishes a connection that the server has closed, in whichever
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

// sessionAgain returns the xid of the first createSession that can be understood.
func sessionAgain(pending map[int32]compareRequest) (first int32, found bool) {
	for xid, r := range pending {
		if r.op == wire.OpCreateSession && r.cut == 0 && (!found || xid < first) {
			first, found = xid, true
		}
	}
	return first, found
}

// welcomedAgain is the answer to a createSession, which must name c's session.
func (c *compareClient) welcomedAgain(payload []byte) (string, error) {
	answer, err := wire.ParseConnectResponse(payload)
	if err == nil && (answer.SessionID != c.id || !bytes.Equal(answer.Password, c.password)) {
		err = errors.New("ANOTHER SESSION")
	}
	return connectText(answer, len(payload)), err
}

// hangUp ends c's connection from this side, and waits for the server to end it
// too. A real one that is slow to notice takes the next connection out of its
// books, in place of the old one: nothing then closes it but its client.
func (p *player) hangUp(c *compareClient) string {
	if c.conn == nil {
		return "no connection"
	}
	conn := c.conn
	c.conn = nil
	// Should that fail, there is nothing to read either.
	_ = conn.Conn.(interface{ CloseWrite() error }).CloseWrite()
	return "hung up: " + p.untilClosed(conn)
}

func (c *compareClient) disconnect() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// untilClosed reads until the server has closed the connection, and closes it.
func (p *player) untilClosed(conn *compareConn) string {
	defer conn.Close()
	c := compareClient{conn: conn}
	var lines []string
	for c.conn != nil {
		line, _, _ := p.read(&c, nil)
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}
