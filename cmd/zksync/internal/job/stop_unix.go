//go:build unix

package job

import (
	"os"

	"golang.org/x/sys/unix"
)

// stopped deals with a command that a signal has stopped. The shell that started
// the program sees only the program: under job control, that stops as well.
func (c *child) stopped(sig unix.Signal) {
	asks := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	if asks && c.tty.handOver(c.pid) {
		// The command wanted the terminal, and the program could give it.
		c.signal(unix.SIGCONT)
		return
	}
	if c.tty == nil || c.lost != nil {
		return // there is no job control, or the command is being ended
	}
	c.tty.takeBack(c.pid)
	if orphaned() {
		c.stoppedForGood(asks)
		return
	}
	c.Out.Notef("stopped; %s is lost if that lasts", c.Lock)
	c.Out.Flush()
	// The neighbours in a pipeline stop, as with Ctrl-Z at the terminal. The
	// program ignores SIGTTOU now. It stops itself by SIGSTOP, because it catches
	// the other signals that stop, and the runtime can't restore their default
	// action. Whoever continues it sends a SIGCONT, which passOn gets.
	_ = unix.Kill(0, unix.SIGTTOU)
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
}

// stoppedForGood deals with a stop that nobody would end: no shell has the
// program as a job. In such a process group the kernel stops nothing, and lets
// the use of a terminal fail that belongs to others. But the command's group has
// the program as a parent that could continue it, so the kernel did stop that.
func (c *child) stoppedForGood(asks bool) {
	if !asks {
		c.Out.Notef("not stopped: no shell could continue the command")
		c.goOn()
		return
	}
	c.Out.Errorf("the command wants the terminal, which it can't get here: its use of the terminal fails")
	// In a session of its own the program counts no longer as such a parent. A
	// leader of a group can't begin a session, so it joins the command's first.
	_ = unix.Setpgid(0, c.pid)
	if _, err := unix.Setsid(); err != nil {
		// The leader of a session can't leave it. This is how the kernel ends a
		// stop that nobody could end any more.
		c.signal(unix.SIGHUP)
	}
	c.tty.close()
	c.tty = nil
	c.goOn()
}

// orphaned reports whether nobody could continue the program if it stopped. That
// would be a shell: a parent of a process in the program's group that is in the
// same session, but in another group.
func orphaned() bool {
	group, _ := unix.Getpgid(0)  // this process exists,
	session, _ := unix.Getsid(0) // so neither fails
	for _, parent := range parentsOf(group) {
		its, err := unix.Getpgid(parent)
		if err != nil || its == group {
			continue
		}
		if of, err := unix.Getsid(parent); err == nil && of == session {
			return false
		}
	}
	return true
}

// neighbourAsks deals with a neighbour in a pipeline that was stopped when it used the
// terminal. If the command has the foreground, the neighbour gets that and goes on; the
// command gets it again when it asks for it. If a shell has the foreground, the whole job
// stops, as it would without the program: otherwise the shell would not continue the
// neighbour, because for the shell the job runs.
func (c *child) neighbourAsks() {
	if c.tty == nil || c.lost != nil {
		return
	}
	c.tty.keep = false
	switch {
	case c.tty.takeBack(c.pid):
		_ = unix.Kill(0, unix.SIGCONT)
	case !orphaned():
		c.signal(unix.SIGTSTP)
	}
}

// leaveTerminal takes the foreground back when the command has ended.
func (c *child) leaveTerminal() {
	asked := c.tty != nil && c.tty.lent && !c.tty.offered
	c.tty.takeBack(c.pid)
	if asked {
		_ = unix.Kill(0, unix.SIGCONT) // a neighbour may have asked just now
	}
	c.tty.close()
}

// goOn lets a stopped command go on if the lock is still held. The news of a
// loss may come later than the SIGCONT, so it asks the lock itself.
func (c *child) goOn() {
	if c.lose != nil && c.Hold.Err() != nil {
		c.lockLost()
		return
	}
	c.wake()
}

// wake continues a command that may be stopped, in the foreground if it had that
// and the program can give it.
func (c *child) wake() {
	c.tty.offerAgain(c.pid)
	c.signal(unix.SIGCONT)
}
