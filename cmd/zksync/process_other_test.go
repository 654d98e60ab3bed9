//go:build unix && !linux

package main

import "syscall"

// alive reports whether a process is there.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
