//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"os/signal"
	"syscall"
	"unsafe"
)

// terminal is the controlling terminal and who has its foreground. nil: there
// is none.
type terminal struct {
	fd    int
	group int  // our own process group
	given bool // the command had the foreground once
}

// openTerminal returns the controlling terminal, or nil. Call it after the
// command was started: it ignores SIGTTOU, which the command would inherit.
func openTerminal() *terminal {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	// Taking the foreground back from the background must not stop us.
	signal.Ignore(syscall.SIGTTOU)
	return &terminal{fd: fd, group: syscall.Getpgrp()}
}

// isStdin reports whether stdin is the terminal. Only then the command gets
// the foreground without asking: in a pipeline Ctrl-C is for all.
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

// handOver makes group the foreground, if it is that already or we are. It
// reports whether group is the foreground now.
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

// takeBack makes our group the foreground if the command's group still is.
func (t *terminal) takeBack(group int) {
	if t == nil {
		return
	}
	if now, ok := foreground(t.fd); ok && now == group {
		setForeground(t.fd, t.group)
	}
}

func (t *terminal) close() {
	if t != nil {
		syscall.Close(t.fd)
	}
}

// foreground returns the foreground process group of the terminal fd; false if
// fd is not our controlling terminal.
func foreground(fd int) (group int, ok bool) {
	var pgrp int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&pgrp)))
	return int(pgrp), errno == 0
}

func setForeground(fd, group int) bool {
	pgrp := int32(group)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&pgrp)))
	return errno == 0
}
