//go:build !linux && !freebsd

package process

import "syscall"

// DieWithUs does nothing: this system kills no process when its parent dies.
func DieWithUs(*syscall.SysProcAttr) {}
