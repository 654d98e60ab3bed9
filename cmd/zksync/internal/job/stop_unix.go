//go:build unix

package job

import (
	"syscall"
	"time"
)

// After the program has stopped itself, it runs again only after a SIGCONT. If
// it runs for resumeSteps of resumeStep without one, the kernel did not stop it
// at all. There are several steps because a single one may last as long as a
// stop, and the SIGCONT that ends the stop arrives a little later: it would pass
// for a second one and undo the next Ctrl-Z.
const (
	resumeSteps = 5
	resumeStep  = 50 * time.Millisecond
)

// stopped deals with a command that a signal has stopped. The shell that started
// the program sees only the program: under job control, that stops as well.
func (c *child) stopped(sig syscall.Signal) {
	if (sig == syscall.SIGTTIN || sig == syscall.SIGTTOU) && c.tty.handOver(c.pid) {
		// The command wanted the terminal, and the program could give it.
		c.signal(syscall.SIGCONT)
		return
	}
	if c.tty == nil || c.lost != nil {
		return // there is no job control, or the command is being ended
	}
	c.Out.Notef("stopped; %s is lost if that lasts", c.Lock)
	c.Out.Flush()
	c.tty.takeBack(c.pid)
	c.resume, c.steps = time.After(resumeStep), 0
	// This stops the whole job, as the terminal would. The signal is SIGTTIN
	// because the program catches SIGTSTP, and the runtime can't restore the
	// default action of that. In an orphaned group neither signal stops anything;
	// then the program goes on by itself.
	_ = syscall.Kill(0, syscall.SIGTTIN)
}

// countStep counts a resumeStep. After the last one the command goes on.
func (c *child) countStep() {
	if c.steps++; c.steps < resumeSteps {
		c.resume = time.After(resumeStep)
		return
	}
	c.goOn()
}

// goOn lets a stopped command go on if the lock is still held. The news of a
// loss may come later than the SIGCONT, so it asks the lock itself.
func (c *child) goOn() {
	c.resume = nil
	if c.lose != nil && c.Hold.Err() != nil {
		c.lockLost()
		return
	}
	c.wake()
}

// wake continues a command that may be stopped, in the foreground if the program
// can give it that.
func (c *child) wake() {
	if c.tty.wanted() {
		c.tty.handOver(c.pid)
	}
	c.signal(syscall.SIGCONT)
}
