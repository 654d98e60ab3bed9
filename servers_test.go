package zksync_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// site is a ZooKeeper that the suite runs on. Each kind of server is one.
type site struct {
	name    string
	servers []string
	// expire ends a client's session at once, as if it had timed out.
	expire func(session int64) error
	// watches counts the watches on the server.
	watches func() (int, error)
	// adapted has dial put sessions on clients of the test's own.
	adapted bool
}

// onServers runs a test on every kind of server there is, on all of them at
// once: most tests wait rather than work.
func onServers(t *testing.T, f func(t *testing.T, z *site)) {
	t.Run("embedded", func(t *testing.T) { t.Parallel(); f(t, embeddedSite(t)) })
	t.Run("real", func(t *testing.T) { t.Parallel(); f(t, realSite(t)) })
}

// onServersInTurn is onServers for a test that measures the process.
func onServersInTurn(t *testing.T, f func(t *testing.T, z *site)) {
	t.Run("embedded", func(t *testing.T) { f(t, embeddedSite(t)) })
	t.Run("real", func(t *testing.T) { f(t, realSite(t)) })
}

// suiteTick is short, so that session timeouts can be.
const suiteTick = 500 * time.Millisecond

// embeddedSite is a server in this process, the test's own.
func embeddedSite(t testing.TB) *site {
	s := zktest.Run(t, zktest.WithTick(suiteTick), zktest.WithSessionLimits(suiteTick, time.Minute))
	return &site{
		name:    "embedded",
		servers: []string{s.Addr()},
		expire: func(session int64) error {
			if !s.Expire(session) {
				return errors.New("no such session")
			}
			return nil
		},
		watches: func() (int, error) { return s.Watches().Total, nil },
	}
}

var embedded struct {
	once sync.Once
	s    *zktest.Server
}

// exampleServers are the servers that the examples connect to: an embedded one,
// so that they run anywhere. An example has no test to end a server with.
func exampleServers() []string {
	embedded.once.Do(func() {
		embedded.s = zktest.New(zktest.WithTick(suiteTick), zktest.WithSessionLimits(suiteTick, time.Minute))
	})
	return []string{embedded.s.Addr()}
}

func stopEmbedded() {
	if embedded.s != nil {
		embedded.s.Close()
	}
}

var real struct {
	once sync.Once
	e    *zktest.Ensemble
	err  error
	dir  string
}

// realSite is the one real server that tests share when they don't harm it.
func realSite(t testing.TB) *site {
	t.Helper()
	needReal(t, startReal())
	e := real.e
	return &site{name: "real", servers: e.Servers(), expire: e.Expire, watches: e.WatchCount}
}

func startReal() error {
	real.once.Do(func() {
		real.dir, real.err = os.MkdirTemp("", "zksync-suite")
		if real.err == nil {
			real.e, real.err = zktest.NewEnsemble(real.dir, 1, zktest.WithTickTime(suiteTick))
		}
	})
	return real.err
}

// countsWatches has a test that counts all watches of a server run beside others
// only where none is shared.
func countsWatches(t *testing.T) {
	if startReal() != nil {
		t.Parallel()
	}
}

func stopReal() {
	if real.e != nil {
		real.e.Close()
	}
	if real.dir != "" {
		os.RemoveAll(real.dir)
	}
}

var loud sync.Once

// needReal ends the test if real ZooKeeper could not be had: as a failure where
// it is required.
func needReal(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, zktest.ErrNoZooKeeper) && os.Getenv("ZKSYNC_REAL") != "required":
		loud.Do(func() {
			line := fmt.Sprint("NO REAL ZOOKEEPER FOUND, the tests ran on the embedded server only: ", err)
			log.Print(line)
			tellGo(line)
		})
		t.Skip("no real ZooKeeper on this machine")
	default:
		t.Fatal(err)
	}
}
