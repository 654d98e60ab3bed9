//go:build unix

package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
)

// start starts the command in a process group of its own.
func (j *Job) start() (pid int, err error) {
	attr := &os.ProcAttr{
		Env:   j.Env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	process.DieWithUs(attr.Sys)
	p, err := os.StartProcess(j.Path, j.Args, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		// The shell runs a script without a #! line, as with execvp(3).
		p, err = os.StartProcess("/bin/sh", append([]string{"sh", j.Path}, j.Args[1:]...), attr)
	}
	if err != nil {
		return 0, startError(j.Args[0], err)
	}
	// The child waits for the command by itself: os.Process does not report a
	// stop.
	pid = p.Pid
	_ = p.Release()
	return pid, nil
}

// startError gives a failure to start the exit code that the shell gives it.
func startError(name string, err error) error {
	var why *os.PathError
	if errors.As(err, &why) {
		err = why.Err
	}
	code := exit.NotExecutable
	switch {
	case errors.Is(err, fs.ErrNotExist): // Find has seen the file itself
		code, err = exit.NotFound, fmt.Errorf("its interpreter: %w", err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		code = exit.OS
	}
	return &exit.Error{Code: code, Err: fmt.Errorf("%s: %w", name, err)}
}
