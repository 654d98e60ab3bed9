package foreign

import "syscall"

// dieWithParent has the kernel end this thread's process when the thread that started
// it ends.
func dieWithParent() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
}
