//go:build !unix && !windows

package job

import (
	"errors"
	"os"
	"os/exec"
)

// tree is a process. This system does not know what it has started.
type tree struct{ process *os.Process }

// start starts cmd.
func start(cmd *exec.Cmd) (*tree, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &tree{cmd.Process}, nil
}

// kill ends the process.
func (t *tree) kill() error {
	if err := t.process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (t *tree) leave() error { return nil }
