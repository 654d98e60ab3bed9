package zksync_test

import "syscall"

// dieWithParent has the kernel end a child with the test, whatever ends that.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
