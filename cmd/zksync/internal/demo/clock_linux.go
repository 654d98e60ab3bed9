package demo

import (
	"syscall"
	"unsafe"
)

// clock returns nanoseconds of the machine's monotonic clock, which all processes
// share. (Go's own readings of it can be compared only within a process.)
func clock() int64 {
	const monotonic = 1 // CLOCK_MONOTONIC
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno) // impossible: every Linux that Go runs on has this clock
	}
	return ts.Nano()
}
