//go:build unix

package process_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCatchSignals(t *testing.T) {
	signal.Ignore(syscall.SIGUSR1) // as if by whoever started the program
	defer signal.Reset(syscall.SIGUSR1)
	sigs := process.CatchSignals()
	defer signal.Stop(sigs)
	if !signal.Ignored(syscall.SIGUSR1) {
		t.Error("a signal that was ignored is caught")
	}
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2} {
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	if sig := <-sigs; sig != syscall.SIGUSR2 {
		t.Errorf("caught %v", sig)
	}
}

func TestAsksToEnd(t *testing.T) {
	for sig, want := range map[os.Signal]bool{
		syscall.SIGHUP: true, syscall.SIGINT: true, syscall.SIGQUIT: true, syscall.SIGTERM: true,
		syscall.SIGUSR1: false, syscall.SIGWINCH: false, syscall.SIGTSTP: false,
	} {
		if process.AsksToEnd(sig) != want {
			t.Errorf("%v asks for an end: %v, want %v", sig, !want, want)
		}
	}
}
