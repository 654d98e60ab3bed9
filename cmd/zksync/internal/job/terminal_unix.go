//go:build unix

package job

import (
	"math"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal. It moves the terminal's foreground
// between the program and the command. A nil terminal means that there is none;
// its methods do nothing.
//
// SIGTTOU is ignored unless the command has the foreground by handOver. Ignoring
// it lets the program take the foreground back, and write to a terminal that
// stops background output. While the command has the foreground, the signal
// comes from a neighbour in a pipeline that is about to use the terminal, and
// goes to asks.
type terminal struct {
	fd      int
	group   int // the program's own process group
	asks    chan<- os.Signal
	lent    bool // handOver has succeeded, and takeBack was not called since
	keep    bool // the command gets the terminal again when it goes on
	offered bool // the command got the foreground by offer
}

// openTerminal returns the controlling terminal, or nil. It must follow the
// start of the command: it ignores SIGTTOU, and the command would inherit that.
func openTerminal(asks chan<- os.Signal) *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	signal.Ignore(unix.SIGTTOU)
	group, _ := unix.Getpgid(0) // does not fail: this process exists
	return &terminal{fd: fd, group: group, asks: asks}
}

// offer gives the foreground to a command that has not asked for it: only if
// both stdin and stdout are the terminal. In a pipeline a neighbour may use it.
func (t *terminal) offer(group int) {
	if t == nil {
		return
	}
	if _, in := foreground(0); !in {
		return
	}
	if _, out := foreground(1); out {
		t.keep = true // also if it is another's now: a shell may give it later, by fg
		t.offered = t.handOver(group)
	}
}

// offerAgain gives the foreground to a command that goes on.
func (t *terminal) offerAgain(group int) {
	if t != nil && t.keep {
		t.handOver(group)
	}
}

// handOver makes group the foreground if the program's own group is, and reports
// whether group is the foreground now.
func (t *terminal) handOver(group int) bool {
	if t == nil {
		return false
	}
	now, ok := foreground(t.fd)
	if !ok || now != t.group {
		return ok && now == group
	}
	signal.Notify(t.asks, unix.SIGTTOU) // first: a neighbour may ask at once
	if unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) != nil {
		signal.Ignore(unix.SIGTTOU)
		return false
	}
	t.lent, t.keep = true, true
	return true
}

// takeBack makes the program's group the foreground if the command's group is.
// It reports whether the program's group is the foreground now.
func (t *terminal) takeBack(group int) bool {
	if t == nil {
		return false
	}
	t.lent = false
	signal.Ignore(unix.SIGTTOU)
	now, ok := foreground(t.fd)
	if ok && now == group {
		return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.group) == nil
	}
	return ok && now == t.group
}

// close closes the terminal.
func (t *terminal) close() {
	if t != nil {
		unix.Close(t.fd)
	}
}

// foreground returns the foreground process group of the terminal fd. It returns
// false if fd is not the controlling terminal.
func foreground(fd int) (group int, ok bool) {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if group > math.MaxInt32 {
		group >>= 32 // the kernel writes 32 bits, which are the upper ones of a big-endian int
	}
	return group, err == nil
}
