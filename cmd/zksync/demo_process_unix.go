//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreStop makes Ctrl-Z do nothing, in the workers too. Whoever is stopped
// sees the end of its hold's context when it goes on, which is too late to
// compare it with the others.
func ignoreStop() { signal.Ignore(syscall.SIGTSTP) }

// workerAttr makes the kernel kill a worker when the demo dies, where it can.
// A worker also ends when its stdin does.
func workerAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	dieWithUs(attr)
	return attr
}
