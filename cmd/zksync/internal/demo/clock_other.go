//go:build !linux

package demo

import "time"

var started = time.Now()

// clock returns nanoseconds that processes of this machine can compare. Package
// syscall has no monotonic clock here that processes share. So this is the wall
// clock at the start of the process, plus the monotonic time since then.
func clock() int64 { return started.UnixNano() + int64(time.Since(started)) }
