//go:build !linux

package main

import "time"

var started = time.Now()

// clock returns nanoseconds that processes of this machine can compare. Package
// syscall knows no monotonic clock here that they share: it is the wall clock
// at the start of the process, and the monotonic one from there on.
func clock() int64 { return started.UnixNano() + int64(time.Since(started)) }
