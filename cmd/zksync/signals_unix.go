//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// catchBrokenPipe makes writing to a stderr that nobody reads an error. The
// runtime would end us otherwise, and the command with us. It is caught and
// not ignored, because the command would inherit the latter.
func catchBrokenPipe() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
