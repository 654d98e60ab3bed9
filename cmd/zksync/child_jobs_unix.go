//go:build unix

package main

import (
	"os/signal"
	"syscall"
	"time"
)

// stopped deals with a command that a signal has stopped. The shell that
// started us sees only us: under job control we stop with the command.
func (c *child) stopped(sig syscall.Signal) {
	if c.tty == nil || c.lost != nil {
		return // no job control, or the end is near anyway
	}
	if (sig == syscall.SIGTTIN || sig == syscall.SIGTTOU) && c.tty.handOver(c.pid) {
		// It wanted the terminal, which was ours to give.
		c.signal(syscall.SIGCONT)
		return
	}
	c.out.notef("stopped; %s is lost if that lasts", c.lock)
	c.tty.takeBack(c.pid)
	signal.Reset(syscall.SIGTSTP)
	c.resume = time.After(resumeAfter)
	// The whole job, as the terminal would have done. In an orphaned group
	// nobody is stopped, and we go on by ourselves.
	syscall.Kill(0, syscall.SIGTSTP)
}

// goOn lets a stopped command go on, if it still has the lock.
func (c *child) goOn() {
	if c.resume != nil {
		c.resume = nil
		signal.Notify(c.sigs, syscall.SIGTSTP)
	}
	if c.lose != nil && c.held.Err() != nil {
		c.loseIt()
		return
	}
	if c.tty.wanted() {
		c.tty.handOver(c.pid)
	}
	c.signal(syscall.SIGCONT)
}
