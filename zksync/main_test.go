package zksync_test

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The examples of the package's page are here, where godoc looks for them; its
// tests are at the module's root.

func TestMain(m *testing.M) {
	skipExamples()
	code := m.Run()
	if ensemble != nil {
		ensemble.Close()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var ensemble *zktest.Ensemble

// exampleServers are the servers that the examples connect to: one real
// ZooKeeper, started by the first example.
var exampleServers = sync.OnceValue(func() []string {
	e, err := zktest.NewEnsemble("", 1, zktest.WithTickTime(500*time.Millisecond))
	if err != nil {
		panic(err) // an example has no test to fail
	}
	ensemble = e
	return e.Servers()
})

// skipExamples has the examples left out, and says so, where there is no server
// for them and none is required.
func skipExamples() {
	_, err := zktest.FindZooKeeper()
	if !errors.Is(err, zktest.ErrNoZooKeeper) || os.Getenv("ZKSYNC_REAL") == "required" {
		return
	}
	flag.Parse()
	skip := flag.Lookup("test.skip").Value
	pattern := "^Example"
	if given := skip.String(); given != "" {
		pattern = given + "|" + pattern
	}
	skip.Set(pattern)
	log.Print("NO REAL ZOOKEEPER FOUND, the examples did not run: ", err)
}
