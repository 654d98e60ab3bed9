package zktest

import (
	"context"
	"net"
	"time"
)

// Link is the network between some clients, usually one, and a [Member]: its Dial
// connects them. It has faults of its own, which add to those of the member: with a link
// for each client, one client is slow and another is cut off. [Faults.Heal] and
// [Server.Reset] end no fault of a Link: [Link.Heal] does.
//
// The zero value is not usable: use [Server.AddLink] or [Member.AddLink]. It must not be
// copied. Its methods may be called from several goroutines.
type Link struct {
	member *Member
	way
	refuse bool // guarded by member.srv.mu
}

// AddLink is [Member.AddLink] of the first member.
func (s *Server) AddLink() *Link { return s.Member(0).AddLink() }

// AddLink adds a link to the member, without faults, and returns it.
func (m *Member) AddLink() *Link { return &Link{member: m, way: newWay()} }

// Dial is [Member.Dial] by this link.
func (l *Link) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	return l.member.dial(context.Background(), network, l)
}

// DialContext is [Member.DialContext] by this link.
func (l *Link) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return l.member.dial(ctx, network, l)
}

// change changes the network of the link.
func (l *Link) change(f func(*network)) {
	l.member.srv.mu.Lock()
	defer l.member.srv.mu.Unlock()
	l.setNetwork(f)
}

func (l *Link) setRefuse(on bool) {
	l.member.srv.mu.Lock()
	defer l.member.srv.mu.Unlock()
	l.refuse = on
}

// Delay is [Faults.Delay] of this link.
func (l *Link) Delay(d time.Duration) { l.change(func(n *network) { n.delay = max(d, 0) }) }

// Jitter is [Faults.Jitter] of this link.
func (l *Link) Jitter(d time.Duration) { l.change(func(n *network) { n.jitter = max(d, 0) }) }

// Loss is [Faults.Loss] of this link.
func (l *Link) Loss(p float64) { l.change(func(n *network) { n.loss = p }) }

// Blackhole is [Faults.Blackhole] of this link.
func (l *Link) Blackhole(directions ...Direction) {
	l.change(func(n *network) { n.hold(directions) })
}

// Refuse is [Faults.Refuse] of this link.
func (l *Link) Refuse() { l.setRefuse(true) }

// Accept ends [Link.Refuse].
func (l *Link) Accept() { l.setRefuse(false) }

// DisconnectAll closes the connections of this link, as [Faults.Disconnect] does.
func (l *Link) DisconnectAll() {
	l.member.srv.mu.Lock()
	defer l.member.srv.mu.Unlock()
	for _, c := range l.member.list() {
		if c.link == l {
			c.disconnect()
		}
	}
	l.member.cutLeaving(func(c *conn) bool { return c.link == l })
}

// Heal ends the faults of this link, as [Faults.Heal] does.
func (l *Link) Heal() {
	l.setRefuse(false)
	l.change(func(n *network) { *n = network{} })
}
