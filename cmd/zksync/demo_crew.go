package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// hand is one worker process as the demo sees it.
type hand struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer
	running bool // until its end was reported
	doomed  bool // its end is what we want
}

// news is what a worker says, or its end.
type news struct {
	worker int
	report report
	end    bool  // and nothing comes after it; report.At is when
	err    error // of a worker that talks nonsense
}

// newHand starts a worker process and sends on what it says. The caller's
// thread has to live as long as the process: on Linux the kernel kills it
// otherwise.
func newHand(worker int, server string, into chan<- news) (*hand, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, &exitError{exitOS, err}
	}
	h := &hand{cmd: exec.Command(exe, workerRole, server, workerName(worker), demoTimeout.String())}
	h.cmd.Stderr = &h.stderr
	h.cmd.SysProcAttr = workerAttr()
	var stdout io.Reader
	if h.stdin, err = h.cmd.StdinPipe(); err == nil {
		if stdout, err = h.cmd.StdoutPipe(); err == nil {
			err = h.cmd.Start()
		}
	}
	if err != nil {
		return nil, &exitError{exitOS, fmt.Errorf("can't start a worker: %w", err)}
	}
	h.running = true
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			n := news{worker: worker}
			n.err = json.Unmarshal(lines.Bytes(), &n.report)
			into <- n
		}
		_ = h.cmd.Wait() // what it says is in ProcessState
		// Only now the kernel has said that the process is gone.
		into <- news{worker: worker, end: true, report: report{At: clock()}}
	}()
	return h, nil
}

// answer tells a worker that the store has seen a write.
func (h *hand) answer(write int) { fmt.Fprintf(h.stdin, "ack %d\n", write) }

// stop tells a worker to work no more once it has given the lock back.
func (h *hand) stop() {
	h.doomed = true
	fmt.Fprintln(h.stdin, "stop")
}

// kill ends a worker as kill -9 does.
func (h *hand) kill() {
	h.doomed = true
	_ = h.cmd.Process.Kill() // an error: it has ended
}

// lastWords is why a worker has ended without being asked to.
func (h *hand) lastWords() string {
	words := strings.TrimSpace(h.stderr.String())
	if words == "" {
		return h.cmd.ProcessState.String()
	}
	return h.cmd.ProcessState.String() + ": " + words
}
