package zktest

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/digestmd5"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// maxRequest is the largest frame that ZooKeeper takes, in bytes.
const maxRequest = 1048575

// usualFrame is room for most requests, in bytes.
const usualFrame = 96

// conn is one connection of a client. Three goroutines work for it: one reads
// frames, one carries them out, and one writes the answers. So a fault in one
// direction does not hold up the other.
type conn struct {
	srv    *Server
	member *Member
	link   *Link // nil if it came by none
	nc     net.Conn
	number int
	in     *inbox
	wake   chan struct{} // of capacity 1: out is not empty
	done   chan struct{} // closed when nc is
	unread bool          // it came while there was no quorum: what it sends is not read
	once   sync.Once
	waits  atomic.Bool // a request waits for the leader

	inLuck  luck // of read
	outLuck luck // guarded by outMu

	outMu sync.Mutex
	out   []outFrame // guarded by outMu
	due   time.Time  // of the last in out; guarded by outMu

	counts connCounts

	// Guarded by srv.mu.
	session  int64
	gone     bool // for the server; queued frames are still sent
	muted    bool // nothing more is sent
	ids      tree.Identities
	exchange *digestmd5.Exchange // of SASL; nil before its first token
	watched  map[string]int      // paths, and in how many tables
	watcher  bool                // has had a watch on a node's data or existence

	hasReadOnly bool // the client sent the byte for read-only mode
}

// outFrame is a frame to send, or with no bytes the end of the connection.
type outFrame struct {
	bytes []byte
	due   time.Time
}

// A connection keeps room for so many frames and bytes that wait to be sent. It makes
// more when it needs that, and gives it up again.
const (
	roomFrames = 256
	roomBytes  = 64 << 10
)

// serve starts the goroutines of a connection. The caller holds srv.mu.
func (m *Member) serve(nc net.Conn, by *Link) {
	s := m.srv
	ip := "127.0.0.1"
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ip = a.IP.String()
	}
	m.number++
	c := &conn{
		srv: s, member: m, link: by, nc: nc, number: m.number,
		in: newInbox(), wake: make(chan struct{}, 1), done: make(chan struct{}),
		ids: tree.FromAddress(ip), watched: make(map[string]int), unread: s.lost,
	}
	c.counts.since = time.Now()
	c.inLuck, c.outLuck = m.lucks()
	m.conns[c] = struct{}{}
	s.wg.Go(c.read)
	s.wg.Go(c.run)
	s.wg.Go(c.write)
}

// cut closes the connection now.
func (c *conn) cut() {
	c.once.Do(func() {
		close(c.done)
		bare(c.nc).Close()
	})
}

// wrapped is a connection by TLS ([crypto/tls.Conn]).
type wrapped interface {
	NetConn() net.Conn
	CloseWrite() error
}

// bare returns the connection below TLS. TLS has a last word when it is closed, and may
// wait for seconds until the client reads it.
func bare(nc net.Conn) net.Conn {
	if outer, ok := nc.(wrapped); ok {
		return outer.NetConn()
	}
	return nc
}

// leave ends the connection for the server at once, and for the client after the
// frames that were sent before. The caller holds srv.mu.
func (c *conn) leave() {
	if c.gone {
		return
	}
	c.gone = true
	c.unwatch()
	c.member.forget(c)
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
	defer c.in.end()
	r := bufio.NewReader(c.nc)
	if w := peekWord(r); w != "" {
		if c.arrived(inFrame{payload: []byte(w), word: true}) {
			_, _ = io.Copy(io.Discard, r) // or a client that writes more waits for ever on a pipe
		}
		return
	}
	if c.unread {
		_, _ = r.Peek(wire.FrameHeader) // the connection ends in either case
		return
	}
	for {
		frame, err := wire.ReadFrame(r, make([]byte, 0, usualFrame), maxRequest)
		if err != nil {
			return
		}
		if !c.arrived(inFrame{payload: frame[wire.FrameHeader:]}) {
			return
		}
		if c.waits.Load() {
			c.hear()
		}
	}
}

// arrived passes a frame to run. It reports false if the connection is closed, or if the
// frame is lost and the connection ends behind those before it.
func (c *conn) arrived(f inFrame) bool {
	lag, lost := c.travel(&c.inLuck)
	if lost {
		return false
	}
	if lag > 0 {
		f.due = time.Now().Add(lag)
	} else {
		f.read = max(c.srv.since(), 1)
	}
	return c.in.put(f, c.done)
}

// run carries out one frame after the other.
func (c *conn) run() {
	defer func() {
		c.srv.mu.Lock()
		c.leave()
		c.srv.mu.Unlock()
	}()
	for first := true; ; first = false {
		f, more, ok := c.in.take(c.done)
		if !ok || !c.pass(f.due, false) || !more {
			return
		}
		c.begins(f)
		if f.word {
			c.word(string(f.payload))
			return
		}
		if first && !c.connect(f.payload) || !first && !c.request(f.payload) {
			return
		}
		c.rests()
	}
}

// pass waits until a frame may go on. It reports false if the connection is closed
// first.
func (c *conn) pass(due time.Time, out bool) bool {
	var wait time.Duration
	if !due.IsZero() { // most frames need no look at the clock
		wait = time.Until(due)
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.done:
			return false
		}
	}
	for {
		gate := c.gate(out)
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
		c.counts.sent++
		c.member.counts.sent++
		c.queue(frame)
	}
}

func (c *conn) queue(frame []byte) {
	f := outFrame{bytes: frame}
	c.outMu.Lock()
	lag, lost := c.travel(&c.outLuck)
	if lost { // nothing behind the end is sent
		f.bytes = nil
	}
	if lag > 0 {
		f.due = time.Now().Add(lag)
	}
	if f.due.Before(c.due) {
		f.due = c.due
	}
	c.due = f.due
	c.out = append(c.out, f)
	c.outMu.Unlock()
	signal(c.wake)
}

// write sends what is queued, until the connection ends.
func (c *conn) write() {
	defer func() {
		if nc, ok := c.nc.(wrapped); ok {
			_ = nc.CloseWrite() // the word of an orderly end; fails at once after cut
		}
		c.cut()
		c.srv.mu.Lock()
		c.leave()
		delete(c.member.leaving, c)
		c.srv.mu.Unlock()
	}()
	var batch []outFrame
	var buf []byte
	for more := true; more; {
		if cap(batch) > roomFrames {
			batch = nil
		}
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
		if buf = buf[:0]; cap(buf) > 2*roomBytes {
			buf = nil
		}
		return err == nil
	}
	for i, f := range batch {
		batch[i] = outFrame{}
		if !f.due.IsZero() || c.gate(true) != nil {
			if !flush() || !c.pass(f.due, true) {
				return buf, false
			}
		}
		if f.bytes == nil {
			flush()
			return buf, false
		}
		if len(buf)+len(f.bytes) > roomBytes && !flush() {
			return buf, false
		}
		buf = append(buf, f.bytes...)
	}
	more = flush() // which empties buf
	return buf, more
}
