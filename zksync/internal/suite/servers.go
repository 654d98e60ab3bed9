package suite

import (
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// ExampleServer is the embedded server that the examples of a package share, so
// that they run anywhere. An example has no test to end a server with.
func ExampleServer() *zktest.Server {
	embedded.once.Do(func() {
		embedded.s = zktest.New(zktest.WithTick(Tick), zktest.WithSessionLimits(Tick, time.Minute))
	})
	return embedded.s
}

var embedded struct {
	once sync.Once
	s    *zktest.Server
}

func stopEmbedded() {
	if embedded.s != nil {
		embedded.s.Close()
	}
}

var real struct {
	once sync.Once
	e    *ensemble.Ensemble
	err  error
	dir  string
}

// StartReal starts the real server that the tests of a package share.
func StartReal() error {
	real.once.Do(func() {
		real.dir, real.err = os.MkdirTemp("", "zksync-suite")
		if real.err == nil {
			real.e, real.err = ensemble.New(real.dir, 1, ensemble.WithTick(Tick))
		}
	})
	return real.err
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

// NeedReal ends the test if real ZooKeeper could not be had: as a failure where
// it is required.
func NeedReal(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ensemble.ErrNoZooKeeper) && os.Getenv("ZKSYNC_REAL") != "required":
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
