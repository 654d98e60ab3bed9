package suite

import (
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// DialUnchecked is [DialTo] for a test that looks at what Close returns.
func DialUnchecked(t *testing.T, servers []string, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	s, err := zksync.Dial(Context(t), servers, append([]zksync.DialOption{
		zksync.WithSessionTimeout(SessionTimeout), zksync.WithLogger(Logger(t))}, opts...)...)
	Must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// UsedPath is a lock path whose nodes exist already. The lock is free: a plain Unlock
// returns before the server has done it, and the next session would have to wait.
func (z *Ground) UsedPath(t testing.TB, s *zksync.Session) string {
	t.Helper()
	p := z.Path(t)
	LockAndUnlock(t, zksync.NewMutex(s, p))
	return p
}

// ProxyTo puts a proxy before a server, until the end of the test.
func ProxyTo(t testing.TB, server string) *ensemble.Proxy {
	t.Helper()
	p, err := ensemble.NewProxy(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Behind opens a session that reaches the server through a proxy only.
func (z *Ground) Behind(t testing.TB, opts ...zksync.DialOption) (*ensemble.Proxy, *zksync.Session) {
	t.Helper()
	p := z.Proxied(t)
	return p, z.opened(DialTo(t, []string{p.Addr()}, opts...))
}

// Adapt makes a session on a client of the test's own, which outlives it.
func (z *Ground) Adapt(t testing.TB, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	all := []zksync.Option{zksync.WithLogger(Logger(t))}
	for _, o := range opts {
		all = append(all, o.(zksync.Option)) // the others belong to the client
	}
	s, err := zksync.NewSession(z.Client(t), SessionTimeout, all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	if err := s.Ping(Context(t)); err != nil { // as after Dial, a session stands
		t.Fatal(err)
	}
	return z.opened(s)
}

// Client is a program's own client, with the session timeout of the suite.
func (z *Ground) Client(t testing.TB) *zk.Conn {
	t.Helper()
	return z.connect(t, SessionTimeout)
}

// Drain waits until a client that was closed has ended. A client that is closed with
// requests under way may lock up instead (conn.go:523 of the client): Drain gives up
// after five seconds.
func Drain(events <-chan zk.Event) {
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	for {
		select {
		case _, more := <-events:
			if !more {
				return
			}
		case <-limit.C:
			return
		}
	}
}

// Plant makes a node as another program would.
func Plant(t *testing.T, c *zk.Conn, path, data string, flags int32) string {
	t.Helper()
	p, err := c.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	Must(t, err)
	return p
}

// DeleteOldest deletes the node that holds the lock.
func DeleteOldest(t *testing.T, z *Ground, p string) {
	t.Helper()
	c := z.Raw(t)
	var node string
	var oldest int64
	for _, n := range Children(t, c, p) {
		_, st, err := c.Exists(p + "/" + n)
		Must(t, err)
		if node == "" || st.Czxid < oldest {
			node, oldest = p+"/"+n, st.Czxid
		}
	}
	Must(t, c.Delete(node, -1))
}

// LossTimeout is the session timeout of the sessions that lose a lock: four
// ticks, the guide asks for three at least.
const LossTimeout = 2 * time.Second

// SecondsTimeout is the session timeout of the sessions that hold the lock after them
// and must not expire.
const SecondsTimeout = 20 * time.Second

// Unreadable lets everybody do everything but read. A session that may create nodes but
// not read them still has to delete its own.
var Unreadable = zk.WorldACL(zk.PermAll &^ zk.PermRead)

// Steward returns a client that has all permissions, and an ACL that gives them to it
// and lets others do everything but read.
func (z *Ground) Steward(t *testing.T) (*zk.Conn, []zk.ACL) {
	t.Helper()
	c := z.Raw(t)
	Must(t, c.AddAuth("digest", []byte("steward:secret")))
	return c, append(zk.DigestACL(zk.PermAll, "steward", "secret"), Unreadable...)
}

// SessionTimeout is long enough for a busy machine, and allows of three ticks.
const SessionTimeout = 4 * time.Second

// Dial opens a session that is closed at the end of the test.
func (z *Ground) Dial(t testing.TB, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	if z.Adapted {
		return z.Adapt(t, opts...)
	}
	if z.dial != nil {
		opts = append([]zksync.DialOption{WithDialer(z.dial)}, opts...)
	}
	return z.opened(DialTo(t, z.Servers, opts...))
}

// DialTo opens a session to servers until the end of the test.
func DialTo(t testing.TB, servers []string, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	opts = append([]zksync.DialOption{zksync.WithSessionTimeout(SessionTimeout), zksync.WithLogger(Logger(t))}, opts...)
	s, err := zksync.Dial(Context(t), servers, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	return s
}

// Proxied puts a TCP proxy with faults and a request counter before the first
// server.
func (z *Ground) Proxied(t testing.TB) *ensemble.Proxy {
	t.Helper()
	if z.dial != nil {
		t.Fatal("there is no proxy in virtual time")
	}
	p, err := ensemble.NewProxy(z.Servers[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Raw opens a plain client, to read the tree and to change it as another program would.
func (z *Ground) Raw(t testing.TB) *zk.Conn {
	t.Helper()
	return z.connect(t, 10*time.Second)
}

func (z *Ground) connect(t testing.TB, timeout time.Duration) *zk.Conn {
	t.Helper()
	dial := z.dial
	if dial == nil {
		dial = dialPatiently
	}
	return connectVia(t, z.Servers, timeout, dial)
}

// AdaptVia makes a session on a client of the test's own with a dialer. The client
// keeps a request that it has not sent for its next connections, also for that of the
// next session: it would drop the request only after it had tried all its servers.
func AdaptVia(t testing.TB, server string, dial zk.Dialer) *zksync.Session {
	t.Helper()
	c := connectVia(t, []string{server, server, server}, SessionTimeout, dial)
	s, err := zksync.NewSession(c, SessionTimeout, zksync.WithLogger(Logger(t)))
	Must(t, err)
	t.Cleanup(func() { Must(t, s.Close()) })
	Must(t, s.Ping(Context(t)))
	return s
}

// dialPatiently waits longer than the client asks for. After a second the client would
// fail all requests that wait for the connection, and that is no time on a busy machine.
func dialPatiently(network, addr string, _ time.Duration) (net.Conn, error) {
	return net.DialTimeout(network, addr, Patience)
}

func connectVia(t testing.TB, servers []string, timeout time.Duration, dial zk.Dialer) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(servers, timeout, zk.WithLogger(Mute{}), zk.WithLogInfo(false), zk.WithDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		Drain(events)
	})
	return c
}

// Mute keeps the client from logging.
type Mute struct{}

// Printf drops a line.
func (Mute) Printf(string, ...any) {}
