package main

import (
	"context"
	"os"
	"strings"
	"time"
)

// job is a command that runs under a lock.
type job struct {
	path  string   // the file to run
	argv  []string // the command as given
	env   []string
	lock  string // for messages
	grace time.Duration
	held  tenure
	sigs  chan os.Signal
	out   *printer
}

// tenure is what a job has to know of its lock; a [zksync.Hold] is one.
type tenure interface {
	// Context returns a context that ends when the lock is lost.
	Context(parent context.Context) context.Context
	// Err returns nil while the lock is held, judged by the clock now.
	Err() error
}

// ended is how a job ended.
type ended struct {
	code int   // the command's exit code, as the shell counts them
	lost error // not nil: the lock was lost while the command ran
}

// reason says why a lock was lost, in a line that says already that it was.
func reason(lost error) string {
	return strings.TrimPrefix(plain(lost), "lock lost: ")
}
