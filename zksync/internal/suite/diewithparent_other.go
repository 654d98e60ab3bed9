//go:build unix && !linux

package suite

import "syscall"

// DieWithParent does nothing on this system.
func DieWithParent() *syscall.SysProcAttr { return nil }
