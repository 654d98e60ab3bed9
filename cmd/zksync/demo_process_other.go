//go:build !unix

package main

import "syscall"

// ignoreStop does nothing: there is no Ctrl-Z that stops.
func ignoreStop() {}

// workerAttr does nothing: a worker ends when its stdin does.
func workerAttr() *syscall.SysProcAttr { return nil }
