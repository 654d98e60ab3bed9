//go:build unix && !linux

package javazk

import (
	"fmt"
	"os/exec"
)

func dieWithParent(*exec.Cmd) {}

// guard starts a shell that kills the process when this one is gone: it reads
// from a pipe whose other end only this process has. release ends the shell and
// is called before the process id can be another's.
func guard(pid int) (release func(), err error) {
	sh := exec.Command("/bin/sh", "-c", fmt.Sprintf("read word || kill -9 %d", pid))
	pipe, err := sh.StdinPipe()
	if err != nil {
		return func() {}, fmt.Errorf("ensemble: guard of process %d: %w", pid, err)
	}
	if err := sh.Start(); err != nil {
		return func() {}, fmt.Errorf("ensemble: guard of process %d: %w", pid, err)
	}
	return func() {
		pipe.Write([]byte("done\n")) // the shell ends without its kill
		sh.Wait()
	}, nil
}

// stopped takes the signal's word for it.
func stopped(int) bool { return true }
