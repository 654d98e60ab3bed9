package suite

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Of a package that passes, "go test ./..." shows nothing but "ok". What must
// be seen all the same goes to where the go command itself writes.
func tellGo(line string) {
	parent := fmt.Sprintf("/proc/%d/", os.Getppid())
	if name, err := os.ReadFile(parent + "comm"); err != nil || strings.TrimSpace(string(name)) != "go" {
		return // nobody stands between us and the reader
	}
	if ours, err := os.Stdout.Stat(); err == nil {
		if theirs, err := os.Stat(parent + "fd/1"); err == nil && os.SameFile(ours, theirs) {
			return // shown as it is
		}
	}
	f := parentStderr(parent)
	if f == nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// parentStderr is the go command's stderr, to write to; nil if that can't be had.
func parentStderr(parent string) *os.File {
	const pidfdOpen, pidfdGetfd = 434, 438 // the same on all architectures
	if p, _, errno := syscall.Syscall(pidfdOpen, uintptr(os.Getppid()), 0, 0); errno == 0 {
		defer syscall.Close(int(p))
		if fd, _, errno := syscall.Syscall(pidfdGetfd, p, 2, 0); errno == 0 {
			return os.NewFile(fd, "stderr of go")
		}
	}
	// Not allowed. A file opened once more would be written to from its
	// beginning; a pipe or a terminal has none.
	name := parent + "fd/2"
	st, err := os.Stat(name)
	if err != nil || st.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	return f
}
