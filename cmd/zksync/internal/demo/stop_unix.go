//go:build unix

package demo

import (
	"os/signal"
	"syscall"
)

// ignoreStop makes Ctrl-Z do nothing, for the workers too. A worker that was
// stopped would see the end of its hold's context only when it goes on, which is
// too late to compare its hold with others.
func ignoreStop() { signal.Ignore(syscall.SIGTSTP) }
