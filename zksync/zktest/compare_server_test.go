package zktest_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// TestServerCompared: whatever a client does, the embedded server answers as a
// real one does, call by call.
func TestServerCompared(t *testing.T) {
	compareAll(t, compareMost, func(t *testing.T) compareDials {
		d := compareDials{nameA: "real ZooKeeper", nameB: "the embedded server", b: compareEmbedded(t)}
		d.a, d.since39 = compareReal(t)
		return d
	})
}

// TestCompareRealWithItself: the comparison finds no difference where there is
// none.
func TestCompareRealWithItself(t *testing.T) {
	suite.Long(t)
	compareAll(t, compareLeast/2, func(t *testing.T) compareDials {
		d := compareDials{nameA: "one real server", nameB: "another"}
		d.a, d.since39 = compareReal(t)
		d.b, _ = compareReal(t)
		return d
	})
}

func dialTCP(addr string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", addr, answerTimeout) }
}

// compareEmbedded starts an embedded server that differs from the real one of
// compareReal in nothing that is set up.
func compareEmbedded(t *testing.T) func() (net.Conn, error) {
	t.Helper()
	s := zktest.Run(t, zktest.WithSessionLimits(500*time.Millisecond, time.Minute), zktest.WithReapInterval(24*time.Hour),
		zktest.WithSASLUsers(saslUsers))
	return dialTCP(s.Addr())
}

// compareReal starts a real server, and reports whether it is ZooKeeper 3.9 or
// later. Nothing but the sequences makes a transaction on it.
func compareReal(t *testing.T) (dial func() (net.Conn, error), since39 bool) {
	t.Helper()
	e := ensemble.Run(t, 1, append(saslOptions(t), ensemble.WithReapInterval(24*time.Hour))...)
	dial = dialTCP(e.Addr(0))
	keepAwake(t, dial)
	return dial, isSince39(t, e)
}

// isSince39 reports whether the servers are ZooKeeper 3.9 or later.
func isSince39(t *testing.T, e *ensemble.Ensemble) bool {
	t.Helper()
	answer, err := e.FourLetter(0, "srvr")
	must(t, err)
	var major, minor int
	if _, err := fmt.Sscanf(answer, "Zookeeper version: %d.%d", &major, &minor); err != nil {
		t.Fatalf("version %q: %v", answer, err)
	}
	return major > 3 || minor >= 9
}

// keepAwake sends pings to a real server until the test ends. Before 3.8.1
// ZooKeeper now and then leaves a request lying until another one comes
// (ZOOKEEPER-4537), and a session that is ending can't send one. Two connections
// send them, so that each has its own request for a session looked after.
func keepAwake(t *testing.T, dial func() (net.Conn, error)) {
	t.Helper()
	var all sync.WaitGroup
	conns, texts := make([]*compareConn, 2), make([]string, 2)
	for i := range conns {
		all.Go(func() {
			conns[i], _, texts[i] = dialRaw(dial, wire.ConnectRequest{Timeout: 60_000, Password: make([]byte, 16)})
		})
	}
	all.Wait()
	t.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
		all.Wait()
	})
	for i, c := range conns {
		if c == nil {
			t.Fatalf("no session: %s", texts[i])
		}
		all.Go(func() { _, _ = io.Copy(io.Discard, c.in) })
		all.Go(func() {
			ping := wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing}.Append(nil)
			for c.send(ping) == nil {
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}
