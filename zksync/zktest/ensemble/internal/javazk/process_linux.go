package javazk

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// dieWithParent has the kernel kill the process when the thread that starts it
// ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// guard has nothing to do here: dieWithParent is all it takes.
func guard(int) (release func(), err error) { return func() {}, nil }

// stopped reports whether every thread of the process stands still: the signal
// reaches them one after the other.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // that thread has ended
		}
		// The state follows the command's name, which stands in parentheses
		// and may hold anything.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if len(state) == 0 || state[0] != 'T' {
			return false
		}
	}
	return true
}
