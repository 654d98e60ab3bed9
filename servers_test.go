package zksync_test

import (
	"errors"
	"flag"
	"log"
	"os"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// exampleServers are the servers that the examples connect to. An example has
// no test to fail or to skip.
func exampleServers() []string {
	startReal()
	if real.err != nil {
		panic(real.err)
	}
	return real.e.Servers()
}

// skipExamples has the examples left out, and says so, where there is no server
// for them and none is required. It runs before the tests.
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
	loud.Do(func() {
		log.Print("NO REAL ZOOKEEPER FOUND: what needs one was not tested, the examples neither: ", err)
	})
}
