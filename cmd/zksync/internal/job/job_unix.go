//go:build unix

package job

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// pollGroup is the time between two looks at a group whose leader has ended.
const pollGroup = 50 * time.Millisecond

// child is a command that runs in a process group of its own.
type child struct {
	*Job
	pid  int // of the command, and of its process group
	tty  *terminal
	lose <-chan struct{} // closed when the lock is lost; nil once that is noticed

	over   bool // the command has ended and was waited for
	status syscall.WaitStatus
	broken bool             // wait4(2) failed: status is unknown
	lost   error            // why the lock was lost
	kill   <-chan time.Time // fires at the end of the grace
	killed bool
	poll   <-chan time.Time // fires when the group is to be looked at again
}

// Run starts the command and stays with it until it has ended. Its error is an
// [exit.Error] and says that the command could not be started.
func (j *Job) Run() (End, error) {
	// On Linux the kernel kills the command when the thread that started it ends,
	// even if the process lives on. This goroutine and its thread stay together
	// until the command is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	// These must precede the start: no SIGCHLD may be missed, and neither Ctrl-Z nor
	// a neighbour in a pipeline that wants the terminal may stop the program alone.
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGCHLD)
	defer signal.Stop(ends)
	signal.Notify(j.Signals, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGCONT)

	pid, err := j.start()
	if err != nil {
		return End{}, err
	}
	held, release := context.WithCancel(context.Background())
	defer release()
	c := &child{Job: j, pid: pid, lose: j.Hold.Context(held).Done(), tty: openTerminal(j.Signals)}
	c.tty.offer(c.pid)
	defer c.leaveTerminal()
	return c.wait(ends), nil
}

// wait stays with the command until it has ended. After a loss it also waits for
// the rest of the group, until that is gone or was killed, or can't be killed. It
// gets a signal from ends when the state of a child has changed.
func (c *child) wait(ends <-chan os.Signal) End {
	for {
		c.reap()
		if c.over && (c.lost == nil || c.killed || !c.groupAlive()) || c.killed && c.untouchable() {
			return c.end()
		}
		if c.over && c.poll == nil {
			c.poll = time.After(pollGroup)
		}
		select {
		case <-ends:
		case <-c.poll:
			c.poll = nil
		case sig := <-c.Signals:
			c.passOn(sig.(syscall.Signal))
		case <-c.lose:
			c.lockLost()
		case <-c.kill:
			c.killed = true // what is left in the group is dying, or a zombie
			c.signal(syscall.SIGKILL)
		}
	}
}

// reap takes note of what the kernel reports of the command. The goroutine that
// calls it also sends the signals, so none goes to a process number that is
// somebody else's by then. It also lets the other processes go that have ended and
// have this one as their parent: as process 1 of a container it gets all orphans.
func (c *child) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD && c.over, err == nil && pid == 0:
			return
		case err != nil: // impossible: nothing else waits for the command
			c.Out.Errorf("waiting for the command: %v", err)
			c.over, c.broken = true, true
			return
		case pid != c.pid:
		case ws.Stopped():
			c.stopped(ws.StopSignal())
		default:
			c.over, c.status = true, ws
			if c.lost == nil {
				c.lost = c.Hold.Err() // the news of a loss may still be on its way
			}
		}
	}
}

// end returns how the command has ended.
func (c *child) end() End {
	e := End{Code: c.status.ExitStatus(), Lost: c.lost}
	if c.lost != nil && c.killed && c.untouchable() {
		e.Running = c.pid
	}
	switch {
	case c.broken:
		e.Code = exit.OS
	case c.status.Signaled():
		e.Code = exit.Signal + int(c.status.Signal())
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
		c.Out.Errorf("can't send %v to the command: %v", sig, err)
	}
}

// groupAlive reports whether the command's group has processes left. As long as
// it has, its number can't become another group's.
func (c *child) groupAlive() bool {
	return syscall.Kill(-c.pid, 0) != syscall.ESRCH
}

// untouchable reports whether the command's group has processes left, and none
// that the program may signal: they run as another user.
func (c *child) untouchable() bool {
	return syscall.Kill(-c.pid, 0) == syscall.EPERM
}

// passOn deals with a signal that came to the program. Most are for the command.
func (c *child) passOn(sig syscall.Signal) {
	switch sig {
	case syscall.SIGCONT:
		c.goOn()
	case syscall.SIGTTIN, syscall.SIGTTOU:
		c.neighbourAsks()
	default:
		c.signal(sig)
	}
}

// lockLost ends a command whose lock is lost. It does nothing the second time.
func (c *child) lockLost() {
	if c.lose == nil {
		return
	}
	c.lose = nil
	c.lost = whyLost(c.Hold)
	c.kill = time.After(c.Grace)
	c.signal(syscall.SIGTERM)
	c.wake() // a stopped process does not act on SIGTERM
	c.Out.Errorf("lost %s: %s; ending the command (SIGKILL in %v)", c.Lock, Reason(c.lost), c.Grace)
}
