package ensemble

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/relay"
)

// Action says what a [Proxy] does with a frame. The zero value is [Pass].
type Action int

// The actions.
const (
	Pass              Action = iota // forward it
	Drop                            // drop it; the connection goes on
	DropAndDisconnect               // drop it and close the connection
	PassAndDisconnect               // forward it, then close the connection
)

// Direction is a way of traffic through a [Proxy], [ToServer] or [ToClient]. It is the
// type of package zktest, so that one test can make the faults of both.
type Direction = zktest.Direction

// The directions.
const (
	ToServer = zktest.ToServer // from clients to the server: requests
	ToClient = zktest.ToClient // from the server to clients: answers and events
)

// Frame is one message that passes a [Proxy]. The zero value means no message.
// Copies share Payload. The hook may read Payload, and change it within its length,
// until it returns; no other goroutine touches it meanwhile.
type Frame struct {
	FromServer bool
	Conn       int64  // the number of the connection through the proxy, from 1
	Op         string // the request, or the request that it answers: "connect", "create", "getData", ...; "notify" is a watch event
	Code       int32  // Op as a number; 0 for "connect" and "notify"
	Xid        int32  // -1 for a watch event, -2 for a ping; 0 for "connect"
	Zxid       int64  // of a reply
	Err        int32  // of a reply: ZooKeeper's error code, 0 is none
	Payload    []byte // without the length before it
}

// Proxy stands between clients and one server. It passes their traffic on, and can
// act like a faulty network. It reads ZooKeeper's protocol. Other traffic (a
// four-letter word, TLS) passes too, but the proxy does not count it and does not
// show it to the hook.
//
// The zero value is not usable: use [NewProxy]. It must not be copied. Its
// methods may be called from several goroutines.
type Proxy struct {
	relay *relay.Relay

	mu       sync.Mutex
	hook     func(Frame) Action // guarded by mu
	requests map[string]int     // guarded by mu
}

// maxFrame is far above what a server takes. A length beyond it is no length.
const maxFrame = 64 << 20

// NewProxy returns a proxy on a free loopback port that passes connections on to
// target, a host and port. The target need not exist yet: the proxy closes a
// connection if it can't reach the target within five seconds. NewProxy returns an
// error if it can't listen. [Proxy.Close] ends the proxy.
func NewProxy(target string) (*Proxy, error) {
	p := &Proxy{requests: make(map[string]int)}
	r, err := relay.New(target, 0, p.newPump)
	if err != nil {
		return nil, err
	}
	p.relay = r
	return p, nil
}

// Addr returns the address that clients connect to, a host and port. It never
// changes.
func (p *Proxy) Addr() string { return p.relay.Addr() }

// Blackhole holds traffic back in the given directions, and lets it through in the
// others. Without an argument it holds both. No side gets a sign: nothing is closed,
// and connections are still accepted, but while [ToServer] is held the server learns
// nothing of them. As in a network that loses packets, held data arrives after
// [Proxy.Heal] on connections that still exist; after [Proxy.DisconnectAll] it never
// arrives. So Blackhole(ToClient), then a request, then DisconnectAll make a request
// that is carried out and whose answer is lost.
func (p *Proxy) Blackhole(directions ...Direction) {
	both := len(directions) == 0
	p.relay.Hold(both || slices.Contains(directions, ToServer), both || slices.Contains(directions, ToClient))
}

// DisconnectAll closes every existing connection. New connections are accepted.
func (p *Proxy) DisconnectAll() { p.relay.Cut() }

// Refuse makes the proxy close every new connection as soon as it is made. Existing
// connections go on. [Proxy.Accept] and [Proxy.Heal] end it.
func (p *Proxy) Refuse() { p.relay.Refuse(true) }

// Accept makes the proxy accept new connections again, after [Proxy.Refuse].
func (p *Proxy) Accept() { p.relay.Refuse(false) }

// Heal ends the effects of [Proxy.Blackhole] and [Proxy.Refuse]. The hook stays.
func (p *Proxy) Heal() {
	p.relay.Refuse(false)
	p.relay.Hold(false, false)
}

// Close closes every connection and the port, and waits until no goroutine of
// the proxy is left. It must not be called from a hook. Further calls do
// nothing.
func (p *Proxy) Close() { p.relay.Close() }

// Connections returns the number of existing connections.
func (p *Proxy) Connections() int { return p.relay.Open() }

// Requests returns how many requests of each kind clients have sent since the start
// or [Proxy.ResetRequests], by the names in [Frame.Op]. Dropped requests count, and
// a multi counts as one. The map is the caller's.
func (p *Proxy) Requests() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.requests)
}

// ResetRequests starts the counts of [Proxy.Requests] anew.
func (p *Proxy) ResetRequests() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.requests)
}

// SetHook makes the proxy call hook with every frame, in either direction, before it
// forwards the frame; nil removes the hook. Calls for one direction of one
// connection come one after the other, in order, and hold up that direction. Other
// calls may run at the same time.
func (p *Proxy) SetHook(hook func(Frame) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = hook
}

// conversation is one connection through a proxy. It knows which request an answer
// belongs to.
type conversation struct {
	proxy *Proxy

	mu      sync.Mutex
	pending map[int32]int32 // guarded by mu; opcodes of requests not yet answered, by xid
}

func (p *Proxy) newPump() relay.Pump {
	return (&conversation{proxy: p, pending: make(map[int32]int32)}).pump
}

// pump copies one direction frame by frame.
func (c *conversation) pump(rc *relay.Conn, d relay.Direction) error {
	conn, _ := rc.Ends(d)
	src := bufio.NewReader(conn)
	if head, err := src.Peek(wire.FrameHeader); err == nil && binary.BigEndian.Uint32(head) > maxFrame {
		return rc.CopyFrom(src, d)
	}
	var buf []byte
	for first := true; ; first = false {
		frame, err := wire.ReadFrame(src, buf, maxFrame)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		buf = frame
		// A held request has not been seen by anybody: it is counted and shown to
		// the hook only when it may go on.
		if !rc.Await(d) {
			return net.ErrClosed
		}
		f := Frame{FromServer: d == relay.ToClient, Conn: rc.Number(), Payload: frame[wire.FrameHeader:], Op: "connect"}
		if !first {
			c.decode(&f)
		}
		act := c.proxy.inspect(f)
		if act == Pass || act == PassAndDisconnect {
			if err := rc.Write(d, frame); err != nil {
				return err
			}
		}
		if act == DropAndDisconnect || act == PassAndDisconnect {
			return net.ErrClosed
		}
	}
}

// decode reads the header and ties an answer to its request.
func (c *conversation) decode(f *Frame) {
	dec := wire.NewDecoder(f.Payload)
	f.Xid = dec.Int32()
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.FromServer {
		f.Zxid, f.Err = dec.Int64(), dec.Int32()
		f.Code = c.pending[f.Xid]
		if f.Xid >= 0 || f.Xid < wire.XidSetWatches { // the others belong to a kind of request, not to one
			delete(c.pending, f.Xid)
		}
	} else {
		f.Code = dec.Int32()
		c.pending[f.Xid] = f.Code
	}
	f.Op = wire.Op(f.Code).String()
}

// inspect counts a frame and asks the hook about it.
func (p *Proxy) inspect(f Frame) Action {
	p.mu.Lock()
	hook := p.hook
	if !f.FromServer {
		p.requests[f.Op]++
	}
	p.mu.Unlock()
	if hook == nil {
		return Pass
	}
	return hook(f)
}
