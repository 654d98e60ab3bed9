//go:build unix && !linux && !freebsd

package main

import "syscall"

// dieWithUs does nothing: this system kills no process when its parent dies.
func dieWithUs(*syscall.SysProcAttr) {}
