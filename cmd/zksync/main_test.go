//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// envRole makes the test binary something else: the command itself, or a bare
// job whose lock the test loses.
const envRole = "ZKSYNC_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	os.Unsetenv(envRole) // not for what the command starts
	if len(os.Args) > 1 && os.Args[1] == workerRole {
		role = "zksync" // but the demo starts itself
	}
	switch role {
	case "zksync":
		main()
	case "job":
		jobMain()
	}
	if signal.Ignored(syscall.SIGHUP) {
		// Under nohup: what the tests start would ignore it as well, which is
		// right for the command and wrong for what is tested here.
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
	}
	goleak.VerifyTestMain(suite{m})
}

// suite runs the tests and ends the server that they share.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	defer stopServer()
	return s.m.Run()
}
