//go:build !unix

package javazk

import (
	"errors"
	"os/exec"
)

func dieWithParent(*exec.Cmd) {}

func guard(int) (release func(), err error) { return func() {}, nil }

func stopped(int) bool { return true }

func (p *process) terminate() error { return p.cmd.Process.Kill() }
func (p *process) pause() error     { return errors.ErrUnsupported }
func (p *process) resume() error    { return errors.ErrUnsupported }
