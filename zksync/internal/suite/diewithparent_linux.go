package suite

import (
	"syscall"
)

// DieWithParent has the kernel end a child with the test, whatever ends that.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
