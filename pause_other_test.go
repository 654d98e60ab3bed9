//go:build unix && !linux

package zksync_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
