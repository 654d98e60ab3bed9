//go:build linux || freebsd

package main

import "syscall"

// dieWithUs makes the kernel kill the command when we die, by kill -9 too. It
// covers the command itself, not what the command has started, and not a
// command that runs with privileges of its own (setuid, file capabilities).
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
