package suite

import (
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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
	once  sync.Once
	e     *ensemble.Ensemble
	err   error
	dir   string
	sleep func() // undoes keepAwake
}

// StartReal starts the real server that the tests of a package share.
func StartReal() error {
	real.once.Do(func() {
		real.dir, real.err = os.MkdirTemp("", "zksync-suite")
		if real.err == nil {
			real.e, real.err = ensemble.New(real.dir, 1, ensemble.WithTick(Tick))
		}
		if real.err == nil {
			real.sleep, real.err = keepAwake(real.e.Addr(0))
		}
	})
	return real.err
}

// keepAwake has a session read from a server every 20 ms, until stop is called.
//
// A server may leave a request undone until the next one of any client comes
// (ZOOKEEPER-4537, in ZooKeeper 3.8.0). A test that counts requests may be the only
// client, and its next request be a probe after 10 s. A read may be left undone, too: so
// the next one does not wait for its answer.
func keepAwake(addr string) (stop func(), err error) {
	c, _, err := zk.Connect([]string{addr}, time.Minute, zk.WithLogger(Mute{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if c.State() == zk.StateHasSession {
					go c.Exists("/")
				}
			}
		}
	})
	return func() { close(done); wg.Wait(); c.Close() }, nil
}

func stopReal() {
	if real.sleep != nil {
		real.sleep()
	}
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
