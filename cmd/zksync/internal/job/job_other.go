//go:build !unix

package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// Run starts the command and stays with it until it has ended. The command
// shares the program's console, and gets Ctrl-C from there. Run's error is an
// [exit.Error] and says that the command could not be started.
func (j *Job) Run() (End, error) {
	cmd := &exec.Cmd{Path: j.Path, Args: j.Args, Env: j.Env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := cmd.Start(); err != nil {
		return End{}, &exit.Error{Code: exit.NotExecutable, Err: fmt.Errorf("%s: %w", j.Args[0], err)}
	}
	held, release := context.WithCancel(context.Background())
	defer release()
	lose := j.Hold.Context(held).Done()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // ProcessState says the same
	}()
	var lost error
	for {
		select {
		case <-done:
			if lost == nil {
				lost = j.Hold.Err()
			}
			return End{Code: cmd.ProcessState.ExitCode(), Lost: lost}, nil
		case <-j.Signals:
			// The console has sent it to the command as well.
		case <-lose:
			lose = nil
			lost = whyLost(j.Hold)
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				j.Out.Errorf("can't kill the command: %v", err)
			}
			j.Out.Errorf("lost %s: %s; the command was killed", j.Lock, Reason(lost))
		}
	}
}
