//go:build unix

package main

import (
	"os"
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
	return s.m.Run()
}
