//go:build !unix

package process

import (
	"os"
	"syscall"
)

var (
	asksToEnd  = []os.Signal{os.Interrupt, syscall.SIGTERM}
	forCommand = asksToEnd
)

// catchBrokenPipe does nothing: this system has no SIGPIPE.
func catchBrokenPipe() {}

// IgnoreStop does nothing: no key stops a program here.
func IgnoreStop() {}
