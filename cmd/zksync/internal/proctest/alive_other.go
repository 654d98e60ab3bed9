//go:build unix && !linux

package proctest

import "syscall"

// Alive reports whether there is a process of that number.
func Alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
