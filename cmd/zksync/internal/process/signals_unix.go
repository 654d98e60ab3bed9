//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"
)

var (
	asksToEnd = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

	// SIGTSTP and SIGCONT are not among these: before the command runs, they are
	// for the program itself.
	forCommand = append([]os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH}, asksToEnd...)
)

// catchBrokenPipe makes writing to a stderr that nobody reads an error.
// Otherwise the Go runtime would end the program, and the command with it. The
// signal is caught, not ignored, because the command would inherit the latter.
func catchBrokenPipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// IgnoreStop makes Ctrl-Z do nothing, for the program and for what it starts.
func IgnoreStop() { signal.Ignore(syscall.SIGTSTP) }
