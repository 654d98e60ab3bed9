// Package suite is what the tests of package zksync share: servers to run on,
// sessions, faults, counters, and checks that nothing is left. The tests are in the
// packages below it and beside the files of package zksync.
package suite

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/internal/race"
)

// Main runs the tests of a package, ends the servers that they share, and fails if
// a goroutine is left. A process that a test has started plays its role instead.
func Main(m *testing.M) { run(m, false) }

// MainAlone is Main for a package whose tests measure times or load the machine: in
// the long form it runs beside no other package that runs by Main.
func MainAlone(m *testing.M) { run(m, true) }

func run(m *testing.M, alone bool) {
	if role := os.Getenv("ZKSYNC_TEST_ROLE"); role != "" {
		os.Exit(runRole(role))
	}
	if IsLong() {
		takeTurn(alone)
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && !race.Enabled {
		_ = f.Value.Set(strconv.Itoa(max(LongOr(4, 16), runtime.GOMAXPROCS(0)))) // most of them wait
	}
	code := m.Run()
	TellForm()
	stopReal()
	stopEmbedded()
	if code == 0 {
		// A client that has locked up stays so for good: what replaces it is
		// tested, and leaves this one goroutine.
		locked := goleak.IgnoreTopFunction("github.com/go-zookeeper/zk.(*Conn).flushRequests")
		if err := goleak.Find(locked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Roles are what a child process of a test may be; the test starts its own
// binary with ZKSYNC_TEST_ROLE set.
var Roles = map[string]func() int{}

func runRole(role string) int {
	f, ok := Roles[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown role", role)
		return 2
	}
	return f()
}
