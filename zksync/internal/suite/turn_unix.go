//go:build darwin || freebsd || linux

package suite

import (
	"runtime"
	"syscall"
)

// takeTurn waits until no package that runs alone is running, and if this one runs
// alone, until no other is. It locks this very file, which all of them have in common,
// until the process ends.
func takeTurn(alone bool) {
	_, name, _, _ := runtime.Caller(0)
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return // built elsewhere
	}
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(fd, how)
	}
}
