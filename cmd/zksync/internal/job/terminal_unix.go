//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package job

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is the controlling terminal. It moves the terminal's foreground
// between the program and the command. A nil terminal means that there is none;
// its methods do nothing.
type terminal struct {
	fd    int
	group int  // the program's own process group
	given bool // the command has had the foreground
}

// openTerminal returns the controlling terminal, or nil. It must follow the
// start of the command: it ignores SIGTTOU, and the command would inherit that.
func openTerminal() *terminal {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	// Without this, taking the foreground back would stop the program, because it
	// is in the background then.
	signal.Ignore(syscall.SIGTTOU)
	return &terminal{fd: fd, group: syscall.Getpgrp()}
}

// isStdin reports whether stdin is the terminal. Only then does the command get
// the foreground without asking for it: in a pipeline, Ctrl-C must reach all
// processes.
func (t *terminal) isStdin() bool {
	if t == nil {
		return false
	}
	_, ok := foreground(0)
	return ok
}

// wanted reports whether the command is one that uses the terminal.
func (t *terminal) wanted() bool {
	return t != nil && (t.given || t.isStdin())
}

// handOver makes group the foreground if the program's own group is, and reports
// whether group is the foreground now.
func (t *terminal) handOver(group int) bool {
	if t == nil {
		return false
	}
	now, ok := foreground(t.fd)
	if ok && now == t.group {
		ok = setForeground(t.fd, group)
		t.given = t.given || ok
		return ok
	}
	return ok && now == group
}

// takeBack makes the program's group the foreground if the command's group is.
func (t *terminal) takeBack(group int) {
	if t == nil {
		return
	}
	if now, ok := foreground(t.fd); ok && now == group {
		setForeground(t.fd, t.group)
	}
}

// close closes the terminal.
func (t *terminal) close() {
	if t != nil {
		syscall.Close(t.fd)
	}
}

// foreground returns the foreground process group of the terminal fd. It returns
// false if fd is not the controlling terminal.
func foreground(fd int) (group int, ok bool) {
	var pgrp int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&pgrp)))
	return int(pgrp), errno == 0
}

// setForeground makes group the foreground of the terminal fd, and reports
// whether it could.
func setForeground(fd, group int) bool {
	pgrp := int32(group)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&pgrp)))
	return errno == 0
}
