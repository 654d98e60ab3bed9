//go:build linux || freebsd

package process

import "syscall"

// DieWithUs makes the kernel kill the process that is started with attr when
// this one dies, be it by kill -9. This covers neither what that process has
// started itself, nor a program with privileges of its own (setuid, file
// capabilities). Systems other than Linux and FreeBSD lack this.
//
// On Linux the kernel kills the process when the thread that started it ends.
// The caller must keep that thread: see [runtime.LockOSThread].
func DieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
