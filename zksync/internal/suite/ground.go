package suite

import (
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// EachSession runs a test on every kind of server, with both ways to make a
// session: by Dial, and on a client that the program has.
func EachSession(t *testing.T, f func(t *testing.T, z *Ground)) {
	Each(t, func(t *testing.T, z *Ground) {
		t.Run("dial", func(t *testing.T) { f(t, z) })
		own := *z
		own.Adapted = true
		t.Run("adapted", func(t *testing.T) { f(t, &own) })
	})
}

// Ground is a ZooKeeper that the suite runs on. Each kind of server is one.
type Ground struct {
	name    string
	Servers []string
	// expire ends a client's session at once, as if it had timed out.
	Expire func(session int64) error
	// watches counts the watches on the server.
	Watches func() (int, error)
	// adapted has dial put sessions on clients of the test's own.
	Adapted bool
}

// Each runs a test on every kind of server there is, on all of them at
// once: most tests wait rather than work.
func Each(t *testing.T, f func(t *testing.T, z *Ground)) {
	t.Run("embedded", func(t *testing.T) { t.Parallel(); f(t, Embedded(t)) })
	t.Run("real", func(t *testing.T) { t.Parallel(); f(t, Real(t)) })
}

// EachInTurn is onServers for a test that measures the process.
func EachInTurn(t *testing.T, f func(t *testing.T, z *Ground)) {
	t.Run("embedded", func(t *testing.T) { f(t, Embedded(t)) })
	t.Run("real", func(t *testing.T) { f(t, Real(t)) })
}

// SuiteTick is short, so that session timeouts can be.
const SuiteTick = 500 * time.Millisecond

// Embedded is a server in this process, the test's own.
func Embedded(t testing.TB) *Ground {
	s := zktest.Run(t, zktest.WithTick(SuiteTick), zktest.WithSessionLimits(SuiteTick, time.Minute))
	return &Ground{
		name:    "embedded",
		Servers: []string{s.Addr()},
		Expire: func(session int64) error {
			if !s.Expire(session) {
				return errors.New("no such session")
			}
			return nil
		},
		Watches: func() (int, error) { return s.Watches().Total, nil },
	}
}

// Real is the one real server that tests share when they don't harm it.
func Real(t testing.TB) *Ground {
	t.Helper()
	NeedReal(t, StartReal())
	e := real.e
	return &Ground{name: "real", Servers: e.Servers(), Expire: e.Expire, Watches: e.WatchCount}
}

// CountsWatches has a test that counts all watches of a server run beside others
// only where none is shared.
func CountsWatches(t *testing.T) {
	if StartReal() != nil {
		t.Parallel()
	}
}
