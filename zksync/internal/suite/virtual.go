package suite

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Some tests need a moment that a real server gives only by chance. They run on a
// server in memory, in virtual time, where that moment can be made.

// VirtualTimeout is the session timeout in virtual time, where it costs nothing.
const VirtualTimeout = 9 * time.Second

// Via opens a session through a dialer, until the end of the test.
func (z *Ground) Via(t *testing.T, dial zk.Dialer, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	return z.opened(DialTo(t, []string{"10.0.0.1"}, append([]zksync.DialOption{
		WithDialer(dial), zksync.WithSessionTimeout(VirtualTimeout), TellsLine()}, opts...)...))
}

// WithDialer opens the connections of a session with a dialer of the client's kind.
func WithDialer(dial zk.Dialer) zksync.DialOption {
	return zksync.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
		limit, _ := ctx.Deadline()
		return dial(network, addr, time.Until(limit))
	})
}

// NodesOf are the full paths of the nodes that a session has.
func NodesOf(srv *zktest.Server, session int64) []string {
	for _, info := range srv.Sessions() {
		if info.ID == session {
			return info.Ephemerals
		}
	}
	return nil
}

// NobodyIn checks that no node is left below p once s is at rest.
func NobodyIn(t *testing.T, srv *zktest.Server, s *zksync.Session, p string) {
	t.Helper()
	AtRest(t, s)
	if left := srv.Children(p); len(left) != 0 {
		t.Errorf("left below %s: %v", p, left)
	}
}

// Asks reports, for [zktest.Faults.DropReply], requests of one kind.
func Asks(op string) func(zktest.Request) bool {
	return func(r zktest.Request) bool { return r.Op == op }
}

// Once reports true the first time that f does.
func Once(f func(zktest.Request) bool) func(zktest.Request) bool {
	was := false
	return func(r zktest.Request) bool {
		is := !was && f(r)
		was = was || is
		return is
	}
}
