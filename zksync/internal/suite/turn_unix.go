//go:build darwin || freebsd || linux

package suite

import (
	"runtime"
	"syscall"
)

// takeTurn waits until no other package of the suite runs in the long form: some
// tests measure times, and others load the machine. It locks this very file, which
// all of them have in common, until the process ends.
func takeTurn() {
	_, name, _, _ := runtime.Caller(0)
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return // built elsewhere
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(fd, syscall.LOCK_EX)
	}
}
