//go:build !unix

package job

import (
	"context"
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
	command, err := start(cmd)
	if err != nil {
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
			if err := command.leave(); err != nil {
				j.Out.Errorf("letting go of the command: %v", err)
			}
			return End{Code: cmd.ProcessState.ExitCode(), Lost: lost}, nil
		case <-j.Signals:
			// The console has sent it to the command as well.
		case <-lose:
			lose = nil
			lost = whyLost(j.Hold)
			if err := command.kill(); err != nil {
				j.Out.Errorf("can't kill the command: %v", err)
			}
			j.Out.Errorf("lost %s: %s; the command was killed", j.Lock, Reason(lost))
		}
	}
}
