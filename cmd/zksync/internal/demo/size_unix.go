//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package demo

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalSize returns the size of a terminal, and false if f is none. For a
// terminal that does not know its size it returns 80 columns and 24 lines.
func terminalSize(f *os.File) (columns, lines int, ok bool) {
	var size struct{ lines, columns, x, y uint16 }
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	err = raw.Control(func(fd uintptr) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
		ok = errno == 0
	})
	if err != nil || !ok {
		return 0, 0, false
	}
	if size.columns == 0 || size.lines == 0 {
		return 80, 24, true
	}
	return int(size.columns), int(size.lines), true
}
