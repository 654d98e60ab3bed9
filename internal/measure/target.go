package measure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Target is the ZooKeeper to measure on, and how to connect to it. It is a plain value.
type Target struct {
	Servers []string // host:port
	Timeout time.Duration
	TLS     *tls.Config // nil: without TLS
	Scheme  string      // of a credential; empty: none
	Cred    []byte
	// Dial replaces TCP if it is not nil.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Options are for the sessions of package zksync only.
	Options []zksync.DialOption
}

// session opens a session of package zksync.
func (t Target) session(ctx context.Context, m *Meter) (*zksync.Session, error) {
	opts := []zksync.DialOption{zksync.WithSessionTimeout(t.Timeout), zksync.WithDialContext(m.DialContext)}
	if t.Scheme != "" {
		opts = append(opts, zksync.WithAuth(t.Scheme, t.Cred))
	}
	return zksync.Dial(ctx, t.Servers, append(opts, t.Options...)...)
}

// Plain is go-zookeeper's client as a program without package zksync has it.
type Plain struct {
	*zk.Conn
	events <-chan zk.Event
}

// Client opens a plain client, and waits for its session.
func (t Target) Client(ctx context.Context, m *Meter) (*Plain, error) {
	conn, events, err := zk.Connect(t.Servers, t.Timeout, zk.WithDialer(m.Dial),
		zk.WithHostProvider(new(names)), zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	p := &Plain{conn, events}
	ready := make(chan error, 1)
	go func() {
		if t.Scheme != "" {
			if err := conn.AddAuth(t.Scheme, t.Cred); err != nil {
				ready <- err
				return
			}
		}
		_, _, err := conn.Exists("/")
		if errors.Is(err, zk.ErrNoAuth) { // from ZooKeeper 3.9 on exists needs the permission to read
			err = nil
		}
		ready <- err
	}()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("go-zookeeper's client: %w", err)
	}
	return p, nil
}

// Close ends the session, and waits for five seconds at most until the client has ended.
func (p *Plain) Close() error {
	p.Conn.Close()
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	for {
		select {
		case _, more := <-p.events:
			if !more {
				return nil
			}
		case <-limit.C:
			return errors.New("go-zookeeper's client has not ended")
		}
	}
}

// names is a client's list of servers that leaves their names to the dialer, since a
// certificate is for a name. The client's own list resolves them.
type names struct {
	mu      sync.Mutex
	servers []string
	next    int // guarded by mu
	last    int // guarded by mu; the one that worked
}

func (n *names) Init(servers []string) error { n.servers, n.last = servers, -1; return nil }
func (n *names) Len() int                    { return len(n.servers) }

func (n *names) Next() (server string, retryStart bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.next % len(n.servers)
	n.next++
	retryStart = i == n.last
	if n.last < 0 {
		n.last = i
	}
	return n.servers[i], retryStart
}

func (n *names) Connected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = (n.next - 1 + len(n.servers)) % len(n.servers)
}

// mute keeps the client from logging.
type mute struct{}

// Printf drops a line.
func (mute) Printf(string, ...any) {}
