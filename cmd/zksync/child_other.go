//go:build !unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Without Unix signals and process groups the command shares our console, gets
// its Ctrl-C from there, and is killed at once when the lock is lost.
var (
	endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}
	passedOn   = endSignals
)

func catchBrokenPipe() {}

// run starts the command and stays with it until it has ended. Its error is
// that of a command that could not be started.
func (j *job) run() (ended, error) {
	cmd := &exec.Cmd{Path: j.path, Args: j.argv, Env: j.env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		return ended{}, &exitError{exitNotExecutable, fmt.Errorf("%s: %w", j.argv[0], err)}
	}
	held, release := context.WithCancel(context.Background())
	defer release()
	lose := j.held.Context(held).Done()
	done := make(chan struct{})
	go func() {
		defer close(done)
		cmd.Wait() // what it says is in ProcessState
	}()
	var lost error
	for {
		select {
		case <-done:
			if lost == nil {
				lost = j.held.Err()
			}
			return ended{code: cmd.ProcessState.ExitCode(), lost: lost}, nil
		case <-j.sigs:
			// The console has told the command too.
		case <-lose:
			lose = nil
			if lost = j.held.Err(); lost == nil {
				lost = errors.New("the lock's context has ended")
			}
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				j.out.errorf("can't kill the command: %v", err)
			}
			j.out.errorf("lost %s: %s; the command was killed", j.lock, reason(lost))
		}
	}
}
