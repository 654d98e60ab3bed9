//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

var (
	// endSignals are the signals that ask a program to end.
	endSignals = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}

	// passedOn are the signals that the command gets when we do. SIGTSTP and
	// SIGCONT join them while the command runs: until then they are for us.
	passedOn = append([]os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH}, endSignals...)
)

const (
	// pollGroup is how often a group whose leader has ended is looked at.
	pollGroup = 50 * time.Millisecond

	// When we run for resumeSteps of resumeStep after we should have been
	// stopped, the kernel did not stop us. In steps, because one of them may
	// last as long as a stop, and the SIGCONT that ends a stop shows a little
	// later: taken for a second one it would undo the next Ctrl-Z.
	resumeSteps = 5
	resumeStep  = 50 * time.Millisecond
)

// child is a command that runs in a process group of its own.
type child struct {
	*job
	pid  int // of the command, and of its process group
	tty  *terminal
	lose <-chan struct{} // closed when the lock is lost; nil once that is noticed

	over   bool // the command has ended and was waited for
	status syscall.WaitStatus
	broken bool             // nobody knows how it ended
	lost   error            // why the lock was lost
	kill   <-chan time.Time // when the grace is over
	killed bool
	poll   <-chan time.Time // when to look at the group again
	resume <-chan time.Time // the end of a resumeStep
	steps  int              // how many there have been
}

// run starts the command and stays with it until it has ended. Its error is
// that of a command that could not be started.
func (j *job) run() (ended, error) {
	// On Linux the kernel kills the child when the thread that started it
	// ends, be the process alive or not. This goroutine keeps the thread, and
	// the thread stays with it, until the child is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	// Before the start: none may be missed, and a Ctrl-Z must not stop us
	// alone.
	chld := make(chan os.Signal, 1)
	signal.Notify(chld, syscall.SIGCHLD)
	defer signal.Stop(chld)
	signal.Notify(j.sigs, syscall.SIGTSTP, syscall.SIGCONT)

	pid, err := j.start()
	if err != nil {
		return ended{}, err
	}
	c := &child{job: j, pid: pid}
	held, release := context.WithCancel(context.Background())
	defer release()
	c.lose = j.held.Context(held).Done()
	c.tty = openTerminal()
	defer c.tty.close()
	if c.tty.isStdin() {
		c.tty.handOver(c.pid)
	}
	defer c.tty.takeBack(c.pid)

	for {
		c.reap()
		if c.over && (c.lost == nil || c.killed || !c.groupAlive()) {
			return c.ended(), nil
		}
		if c.over && c.poll == nil {
			c.poll = time.After(pollGroup)
		}
		select {
		case <-chld:
		case <-c.poll:
			c.poll = nil
		case sig := <-j.sigs:
			c.passOn(sig.(syscall.Signal))
		case <-c.lose:
			c.loseIt()
		case <-c.kill:
			c.killed = true // who is left in the group is dying, or a zombie
			c.signal(syscall.SIGKILL)
		case <-c.resume:
			if c.steps++; c.steps < resumeSteps {
				c.resume = time.After(resumeStep)
			} else {
				c.goOn()
			}
		}
	}
}

// start starts the command in a process group of its own.
func (j *job) start() (pid int, err error) {
	attr := &os.ProcAttr{
		Env:   j.env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	dieWithUs(attr.Sys)
	p, err := os.StartProcess(j.path, j.argv, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without a #! line is the shell's, as for execvp(3).
		p, err = os.StartProcess("/bin/sh", append([]string{"sh", j.path}, j.argv[1:]...), attr)
	}
	if err != nil {
		return 0, startError(j.argv[0], err)
	}
	// We wait for it ourselves: os.Process does not tell of a stop.
	pid = p.Pid
	_ = p.Release()
	return pid, nil
}

// startError gives a failure to start the exit code that the shell has for it.
func startError(name string, err error) error {
	var why *os.PathError
	if errors.As(err, &why) {
		err = why.Err
	}
	code := exitNotExecutable
	switch {
	case errors.Is(err, fs.ErrNotExist): // the file was there a moment ago
		code, err = exitNotFound, fmt.Errorf("its interpreter: %w", err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		code = exitOS
	}
	return &exitError{code, fmt.Errorf("%s: %w", name, err)}
}

// reap takes what the kernel has to tell of the command. Signals are sent by
// the same goroutine, so none goes to a pid that is somebody else's by now.
func (c *child) reap() {
	for !c.over {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(c.pid, &ws, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // nobody but us waits for it
			c.out.errorf("waiting for the command: %v", err)
			c.over, c.broken = true, true
		case pid != c.pid:
			return
		case ws.Stopped():
			c.stopped(ws.StopSignal())
		default:
			c.over, c.status = true, ws
			if c.lost == nil {
				c.lost = c.held.Err() // lost a moment ago is lost
			}
		}
	}
}

func (c *child) ended() ended {
	e := ended{code: c.status.ExitStatus(), lost: c.lost}
	switch {
	case c.broken:
		e.code = exitOS
	case c.status.Signaled():
		e.code = exitSignal + int(c.status.Signal())
	}
	return e
}

// signal sends sig to the command's group, or to the command alone if it has
// left its group.
func (c *child) signal(sig syscall.Signal) {
	err := syscall.Kill(-c.pid, sig)
	if err == syscall.ESRCH && !c.over {
		err = syscall.Kill(c.pid, sig)
	}
	if err != nil && err != syscall.ESRCH {
		c.out.errorf("can't send %v to the command: %v", sig, err)
	}
}

// groupAlive reports whether processes are left in the command's group. Its
// number can't be another group's as long as there are.
func (c *child) groupAlive() bool {
	return syscall.Kill(-c.pid, 0) != syscall.ESRCH
}

// passOn gives the command a signal that came to us.
func (c *child) passOn(sig syscall.Signal) {
	if sig == syscall.SIGCONT {
		c.goOn()
		return
	}
	c.signal(sig)
}

// loseIt ends a command whose lock is lost.
func (c *child) loseIt() {
	if c.lose == nil {
		return
	}
	c.lose = nil
	if c.lost = c.held.Err(); c.lost == nil {
		c.lost = errors.New("the lock's context has ended") // not by us
	}
	c.kill = time.After(c.grace)
	c.signal(syscall.SIGTERM)
	c.wake() // a stopped process gets no SIGTERM
	c.out.errorf("lost %s: %s; ending the command (SIGKILL in %v)", c.lock, reason(c.lost), c.grace)
}
