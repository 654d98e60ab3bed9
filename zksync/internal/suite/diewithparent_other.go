//go:build unix && !linux

package suite

import "syscall"

func DieWithParent() *syscall.SysProcAttr { return nil }
