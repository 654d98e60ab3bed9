package zktest

import (
	"bufio"
	"net"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// maxRequest is the largest frame that ZooKeeper takes, in bytes.
const maxRequest = 1048575

// conn is one connection of a client. Three goroutines work for it: one reads
// frames, one carries them out, and one writes the answers. So a fault in one
// direction does not hold up the other.
type conn struct {
	srv    *Server
	member *Member
	nc     net.Conn
	number int
	in     chan inFrame
	wake   chan struct{} // of capacity 1: out is not empty
	done   chan struct{} // closed when nc is
	once   sync.Once

	outMu sync.Mutex
	out   []outFrame // guarded by outMu
	due   time.Time  // of the last in out; guarded by outMu

	// Guarded by srv.mu.
	session int64
	gone    bool // for the server; queued frames are still sent
	muted   bool // nothing more is sent
	ids     tree.Identities
	watched map[string]int // paths, and in how many tables
}

type inFrame struct {
	payload []byte
	due     time.Time
}

// outFrame is a frame to send, or with no bytes the end of the connection.
type outFrame struct {
	bytes []byte
	due   time.Time
}

// inRoom is how many frames a connection takes ahead of their turn. A client
// that sends more has to wait, as it does for the buffers of a kernel.
const inRoom = 256

// serve starts the goroutines of a connection. The caller holds srv.mu.
func (m *Member) serve(nc net.Conn) {
	s := m.srv
	ip := "127.0.0.1"
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ip = a.IP.String()
	}
	m.number++
	c := &conn{
		srv: s, member: m, nc: nc, number: m.number,
		in: make(chan inFrame, inRoom), wake: make(chan struct{}, 1), done: make(chan struct{}),
		ids: tree.FromAddress(ip), watched: make(map[string]int),
	}
	m.conns[c] = struct{}{}
	s.wg.Go(c.read)
	s.wg.Go(c.run)
	s.wg.Go(c.write)
}

// cut closes the connection now.
func (c *conn) cut() {
	c.once.Do(func() {
		close(c.done)
		c.nc.Close()
	})
}

// leave ends the connection for the server at once, and for the client after the
// frames that were sent before. The caller holds srv.mu.
func (c *conn) leave() {
	if c.gone {
		return
	}
	c.gone = true
	c.unwatch()
	delete(c.member.conns, c)
	c.member.leaving[c] = struct{}{}
	if ss := c.srv.sessions[c.session]; ss != nil && ss.conn == c {
		ss.conn = nil
	}
	c.queue(nil)
}

// disconnect ends the connection for both ends now. The caller holds srv.mu.
func (c *conn) disconnect() {
	c.leave()
	c.cut()
}

func (c *conn) read() {
	defer close(c.in)
	r := bufio.NewReader(c.nc)
	for {
		frame, err := wire.ReadFrame(r, nil, maxRequest)
		if err != nil {
			return
		}
		f := inFrame{payload: frame[wire.FrameHeader:]}
		if lag := c.member.lag(); lag > 0 {
			f.due = time.Now().Add(lag)
		}
		select {
		case c.in <- f:
		case <-c.done:
			return
		}
	}
}

// run carries out one frame after the other.
func (c *conn) run() {
	defer func() {
		c.srv.mu.Lock()
		c.leave()
		c.srv.mu.Unlock()
	}()
	for first := true; ; first = false {
		var f inFrame
		more := true
		select {
		case f, more = <-c.in:
		case <-c.done:
			return
		}
		if !c.pass(f.due, false) || !more {
			return
		}
		if first && !c.connect(f.payload) || !first && !c.request(f.payload) {
			return
		}
	}
}

// pass waits until a frame may go on. It reports false if the connection is closed
// first.
func (c *conn) pass(due time.Time, out bool) bool {
	if wait := time.Until(due); !due.IsZero() && wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.done:
			return false
		}
	}
	for {
		gate := c.member.gate(out)
		if gate == nil {
			return true
		}
		select {
		case <-gate:
		case <-c.done:
			return false
		}
	}
}

// send queues a frame. The caller holds srv.mu.
func (c *conn) send(frame []byte) {
	if !c.gone && !c.muted {
		c.queue(frame)
	}
}

func (c *conn) queue(frame []byte) {
	f := outFrame{bytes: frame}
	lag := c.member.lag()
	c.outMu.Lock()
	if lag > 0 {
		f.due = time.Now().Add(lag)
	}
	if f.due.Before(c.due) {
		f.due = c.due
	}
	c.due = f.due
	c.out = append(c.out, f)
	c.outMu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write sends what is queued, until the connection ends.
func (c *conn) write() {
	defer func() {
		c.cut()
		c.srv.mu.Lock()
		c.leave()
		delete(c.member.leaving, c)
		c.srv.mu.Unlock()
	}()
	var batch []outFrame
	var buf []byte
	for more := true; more; {
		batch = c.queued(batch[:0])
		if len(batch) == 0 {
			select {
			case <-c.wake:
			case <-c.done:
				return
			}
			continue
		}
		buf, more = c.writeFrames(batch, buf)
	}
}

// queued takes the frames that are to be sent, and leaves an empty slice with the
// room of spare in their place.
func (c *conn) queued(spare []outFrame) (batch []outFrame) {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	batch, c.out = c.out, spare
	return batch
}

// writeFrames sends frames in as few writes as their times allow. It reports false
// when the connection is at its end, and returns buf, empty, to be used again.
func (c *conn) writeFrames(batch []outFrame, buf []byte) (room []byte, more bool) {
	flush := func() bool {
		if len(buf) == 0 {
			return true
		}
		_, err := c.nc.Write(buf)
		buf = buf[:0]
		return err == nil
	}
	for i, f := range batch {
		batch[i] = outFrame{}
		if !f.due.IsZero() || c.member.gate(true) != nil {
			if !flush() || !c.pass(f.due, true) {
				return buf, false
			}
		}
		if f.bytes == nil {
			flush()
			return buf, false
		}
		buf = append(buf, f.bytes...)
	}
	more = flush() // which empties buf
	return buf, more
}
