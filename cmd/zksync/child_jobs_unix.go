//go:build unix

package main

import (
	"syscall"
	"time"
)

// stopped deals with a command that a signal has stopped. The shell that
// started us sees only us: under job control we stop with the command.
func (c *child) stopped(sig syscall.Signal) {
	if (sig == syscall.SIGTTIN || sig == syscall.SIGTTOU) && c.tty.handOver(c.pid) {
		// It wanted the terminal, which was ours to give.
		c.signal(syscall.SIGCONT)
		return
	}
	if c.tty == nil || c.lost != nil {
		return // no job control, or the end is near anyway
	}
	c.out.notef("stopped; %s is lost if that lasts", c.lock)
	c.out.flush()
	c.tty.takeBack(c.pid)
	c.resume, c.steps = time.After(resumeStep), 0
	// The whole job, as the terminal would have done. By SIGTTIN, because we
	// catch SIGTSTP, and the runtime can't give that its default action again.
	// In an orphaned group neither stops anybody, and we go on by ourselves.
	_ = syscall.Kill(0, syscall.SIGTTIN)
}

// goOn lets a stopped command go on, if it still has the lock.
func (c *child) goOn() {
	c.resume = nil
	if c.lose != nil && c.held.Err() != nil {
		c.loseIt()
		return
	}
	c.wake()
}

// wake continues a command that may be stopped, in the foreground if that is
// ours to give.
func (c *child) wake() {
	if c.tty.wanted() {
		c.tty.handOver(c.pid)
	}
	c.signal(syscall.SIGCONT)
}
