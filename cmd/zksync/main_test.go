//go:build unix

package main

import (
	"log"
	"os"
	"sync/atomic"
	"testing"

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
	proctest.PlayRole(map[string]func(){roleCommand: main})
	goleak.VerifyTestMain(suite{m})
}

// suite runs the tests and ends the server that they share.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	defer stopServer()
	code := s.m.Run()
	if n := leftOut.Load(); n > 0 {
		log.Printf("SHORT FORM, %d tests left out (ZKSYNC_LONG=1 runs them, too)", n)
	}
	return code
}

// leftOut is how many tests the short form has left out.
var leftOut atomic.Int64

// long skips a test, unless all are asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("ZKSYNC_LONG") != "1" {
		leftOut.Add(1)
		t.Skip("in the long form only: ZKSYNC_LONG=1")
	}
}

// beside is t.Parallel in the short form, in which nothing is measured.
func beside(t *testing.T) {
	if os.Getenv("ZKSYNC_LONG") != "1" {
		t.Parallel()
	}
}
