package wire

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// peer is a scripted server for go-zookeeper's client, over net.Pipe.
type peer struct {
	t  *testing.T
	wg sync.WaitGroup

	mu       sync.Mutex
	body     []byte // of the next reply; guarded by mu
	event    []byte // body of an event to send before it; guarded by mu
	cut      bool   // close the connection instead of answering; guarded by mu
	last     []byte // payload of the last request but ping; guarded by mu
	connects []ConnectRequest
}

// sole is a host provider of one address that is never looked up and that never
// asks the client to pause.
type sole struct{}

func (sole) Init([]string) error  { return nil }
func (sole) Len() int             { return 1 }
func (sole) Next() (string, bool) { return "peer:2181", false }
func (sole) Connected()           {}

type silent struct{}

func (silent) Printf(string, ...any) {}

// newPeer starts a peer and a client that is connected to it; both end with the
// test.
func newPeer(t *testing.T) (*peer, *zk.Conn) {
	t.Helper()
	p := &peer{t: t}
	dial := func(string, string, time.Duration) (net.Conn, error) {
		near, far := net.Pipe()
		p.wg.Add(1)
		go func() {
			defer p.wg.Done()
			defer far.Close()
			p.serve(far)
		}()
		return near, nil
	}
	c, events, err := zk.Connect([]string{"peer"}, 30*time.Second, zk.WithDialer(dial), zk.WithHostProvider(sole{}),
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events { // closed when the client's goroutines are done
		}
		p.wg.Wait()
	})
	return p, c
}

// serve answers one connection until it ends.
func (p *peer) serve(c net.Conn) {
	send := func(payload []byte) bool {
		_, err := c.Write(AppendFrame(nil, payload))
		return err == nil
	}
	buf, err := ReadFrame(c, nil, 1<<20)
	if err != nil {
		return
	}
	cr, err := ParseConnectRequest(buf[FrameHeader:])
	if err != nil {
		p.t.Errorf("connect: %v", err)
		return
	}
	cr.Password = bytes.Clone(cr.Password)
	p.mu.Lock()
	p.connects = append(p.connects, cr)
	zxid := int64(1000 * len(p.connects))
	p.mu.Unlock()
	answer := ConnectResponse{Timeout: cr.Timeout, SessionID: 0x1234, Password: []byte("0123456789abcdef")}
	if !send(answer.Append(nil)) {
		return
	}
	for ; ; zxid++ {
		if buf, err = ReadFrame(c, buf, 1<<20); err != nil {
			return
		}
		h, _, err := ParseRequestHeader(buf[FrameHeader:])
		if err != nil {
			p.t.Errorf("request: %v", err)
			return
		}
		if h.Op == OpPing {
			if !send(ReplyHeader{Xid: XidPing, Zxid: zxid}.Append(nil)) {
				return
			}
			continue
		}
		p.mu.Lock()
		body, event, cut := p.body, p.event, p.cut
		p.cut = false
		if !cut {
			p.event = nil
		}
		p.last = bytes.Clone(buf[FrameHeader:])
		p.mu.Unlock()
		if cut {
			return
		}
		if event != nil && !send(append(ReplyHeader{Xid: XidEvent, Zxid: -1}.Append(nil), event...)) {
			return
		}
		if h.Op == OpClose || h.Op == OpSetWatches || h.Op == OpAuth {
			body = nil
		}
		if !send(append(ReplyHeader{Xid: h.Xid, Zxid: zxid}.Append(nil), body...)) {
			return
		}
	}
}

// say sets the body of the next reply, and of an event before it if not nil.
func (p *peer) say(body, event []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.body, p.event = body, event
}
