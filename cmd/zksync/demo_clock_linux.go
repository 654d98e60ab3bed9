package main

import (
	"syscall"
	"unsafe"
)

// clock returns nanoseconds of the machine's monotonic clock, which all its
// processes share. (Go's own readings can be compared within a process only.)
func clock() int64 {
	const monotonic = 1 // CLOCK_MONOTONIC
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno) // every Linux that Go runs on has the clock
	}
	return ts.Nano()
}
