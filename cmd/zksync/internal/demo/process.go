package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
)

// workerProcess is a worker as the demo sees it.
type workerProcess struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer
	running bool // until its end was received
	doomed  bool // the demo wants it to end
}

// message is a report of a worker, or the end of its process.
type message struct {
	worker int
	report report
	end    bool  // the process has ended, at report.At; nothing follows
	err    error // the worker wrote something that is no report
}

// startWorker starts a worker and sends its messages. The caller's thread must
// live as long as the process; see [process.DieWithUs].
func startWorker(worker int, server string, messages chan<- message) (*workerProcess, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, &exit.Error{Code: exit.OS, Err: err}
	}
	p := &workerProcess{cmd: exec.Command(exe, WorkerCommand, server, workerName(worker), sessionTimeout.String())}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	process.DieWithUs(p.cmd.SysProcAttr) // elsewhere it ends when its stdin does
	var stdout io.Reader
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		if stdout, err = p.cmd.StdoutPipe(); err == nil {
			err = p.cmd.Start()
		}
	}
	if err != nil {
		return nil, &exit.Error{Code: exit.OS, Err: fmt.Errorf("can't start a worker: %w", err)}
	}
	p.running = true
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			m := message{worker: worker}
			m.err = json.Unmarshal(lines.Bytes(), &m.report)
			messages <- m
		}
		_ = p.cmd.Wait() // ProcessState says the same
		// Only now has the kernel said that the process is gone.
		messages <- message{worker: worker, end: true, report: report{At: clock()}}
	}()
	return p, nil
}

// ack tells the worker that the store has answered a write.
func (p *workerProcess) ack(write int) { writeAck(p.stdin, write) }

// stop asks the worker to end after its hold.
func (p *workerProcess) stop() {
	p.doomed = true
	writeStop(p.stdin)
}

// kill ends the worker as kill -9 does.
func (p *workerProcess) kill() {
	p.doomed = true
	_ = p.cmd.Process.Kill() // fails if it has ended
}

// lastWords returns why the worker has ended without being asked to.
func (p *workerProcess) lastWords() string {
	words := strings.TrimSpace(p.stderr.String())
	if words == "" {
		return p.cmd.ProcessState.String()
	}
	return p.cmd.ProcessState.String() + ": " + words
}
