//go:build unix

package main

import (
	"flag"
	"log"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/demo"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// roleCommand is the role of the command itself.
const roleCommand = "zksync"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == demo.WorkerCommand {
		main() // the demo has started this binary
	}
	proctest.PlayRole(map[string]func(){roleCommand: main, roleDropped: mainDropped})
	testscript.Main(suite{m}, map[string]func(){"zksync": main}) // the scripts' command
}

// suite runs the tests, ends the server that they share, and looks for goroutines that
// are left.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	code := s.tests()
	if err := goleak.Find(); err != nil && code == 0 {
		log.Print(err)
		code = 1
	}
	return code
}

func (s suite) tests() int {
	defer stopServer()
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))) // most of the tests wait
	}
	code := s.m.Run()
	if n := leftOut.Load(); n > 0 {
		log.Printf("SHORT FORM, %d tests left out (ZKSYNC_LONG=1 runs them, too)", n)
	}
	return code
}

// leftOut is how many tests the short form has left out.
var leftOut atomic.Int64

// isLong reports whether the long form of the tests was asked for.
func isLong() bool { return os.Getenv("ZKSYNC_LONG") == "1" }

// long skips a test in the short form.
func long(t *testing.T) {
	t.Helper()
	if !isLong() {
		leftOut.Add(1)
		t.Skip("in the long form only: ZKSYNC_LONG=1")
	}
}

// beside is t.Parallel in the short form, in which nothing is measured.
func beside(t *testing.T) {
	if !isLong() {
		t.Parallel()
	}
}
