package suite

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Network is the way of a session to the server, with faults of its own. It is a
// [ensemble.Proxy] in real time, and a [zktest.Member] in virtual time.
type Network interface {
	Blackhole(directions ...zktest.Direction)
	Refuse()
	DisconnectAll()
	Heal()
}

// Through opens a session on a network of its own. In virtual time the network has
// the same faults, so a test that needs no hook of a proxy can be [Timeless].
func (z *Ground) Through(t testing.TB, opts ...zksync.DialOption) (Network, *zksync.Session) {
	t.Helper()
	n, servers, dial := z.network(t)
	return n, z.opened(DialTo(t, servers, append([]zksync.DialOption{WithDialer(dial)}, opts...)...))
}

// Tapped opens a session whose frames a [Tap] shows, in real and in virtual time.
func (z *Ground) Tapped(t testing.TB, opts ...zksync.DialOption) (*Tap, *zksync.Session) {
	t.Helper()
	w := &Tap{To: net.DialTimeout}
	if z.Virtual() {
		w.To = z.dial
	}
	return w, z.opened(DialTo(t, z.Servers, append([]zksync.DialOption{WithDialer(w.Dial)}, opts...)...))
}

// network returns a new network, with the servers and the dialer of its clients.
func (z *Ground) network(t testing.TB) (Network, []string, func(network, addr string, timeout time.Duration) (net.Conn, error)) {
	t.Helper()
	if !z.Virtual() {
		p := z.Proxied(t)
		return p, []string{p.Addr()}, net.DialTimeout
	}
	m := &virtualNetwork{Member: z.Server.AddMember()}
	m.Jitter(time.Millisecond) // as on the other members
	return m, z.Servers, m.dial
}

// virtualNetwork is a member that can close its connections.
type virtualNetwork struct {
	*zktest.Member

	mu    sync.Mutex
	conns []net.Conn // guarded by mu; all that were made since the last DisconnectAll
}

func (n *virtualNetwork) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	c, err := n.Dial(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns = append(n.conns, c)
	return c, nil
}

// DisconnectAll closes every existing connection.
func (n *virtualNetwork) DisconnectAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}
