package javazk

import (
	"os/exec"
	"runtime"
	"sync"
)

// process is a child process, which may have ended.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has ended and was reaped
	err  error         // of Wait; set before done is closed
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process, paused or not, and waits until it is reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when the process is gone
	<-p.done
}

// spawner starts processes that die with this one. Linux kills such a process when
// the *thread* that started it ends, and the thread of an ordinary goroutine can end
// at any time. So one goroutine keeps a thread for itself until close, when the
// children have ended. The methods may be called from several goroutines.
type spawner struct {
	work chan func()
	wg   sync.WaitGroup // the goroutine, and one more a process
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	s.wg.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for f := range s.work {
			f()
		}
	})
	return s
}

// start starts cmd, which must not be started yet. The output of cmd must go to
// files, so that no goroutine has to copy it.
func (s *spawner) start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	s.work <- func() {
		dieWithParent(cmd)
		started <- cmd.Start()
	}
	if err := <-started; err != nil {
		return nil, err
	}
	release, err := guard(p.pid())
	s.wg.Go(func() {
		p.err = cmd.Wait()
		release()
		close(p.done)
	})
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// close waits until every process has ended. It is called once, after they were
// killed; start must not be called any more.
func (s *spawner) close() {
	close(s.work)
	s.wg.Wait()
}
