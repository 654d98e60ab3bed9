package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// workerProcess is a worker as the demo sees it.
type workerProcess struct {
	name    string
	way     *zktest.Member // to the server
	cmd     *exec.Cmd
	stdin   io.Writer
	running bool // until its end was received
	killed  bool // by the demo
}

// start starts the worker, for the first time or again. It reports into the pipe. The
// caller's thread must live as long as the process; see [process.DieWithUs].
func (w *workerProcess) start(pipe *os.File) error {
	exe, err := os.Executable()
	cmd := exec.Command(exe, WorkerCommand, w.way.Addr(), w.name)
	cmd.Stdout, cmd.Stderr = pipe, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	process.DieWithUs(cmd.SysProcAttr) // elsewhere it ends when its stdin does
	stdin, ierr := cmd.StdinPipe()
	if err = errors.Join(err, ierr); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	w.cmd, w.stdin, w.running, w.killed = cmd, stdin, true, false
	go func() {
		_ = cmd.Wait() // ProcessState says the same
		end := report{Who: w.name, What: gone, Text: cmd.ProcessState.String()}
		_ = end.write(pipe) // the demo reads until this comes
	}()
	return nil
}

// answer tells the worker that the store has dealt with a write.
func (w *workerProcess) answer(n int) { fmt.Fprintln(w.stdin, n) }

// kill ends the worker as kill -9 does, if it runs.
func (w *workerProcess) kill() {
	if w.running {
		w.killed = true
		_ = w.cmd.Process.Kill() // fails if it has ended
	}
}

// listen passes on what comes out of the pipe, until nobody can write into it any more.
func (d *demo) listen(pipe *os.File) {
	defer pipe.Close()
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r = report{Text: lines.Text()}
		}
		d.reports <- r
	}
}
