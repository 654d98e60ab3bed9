package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// printer writes lines to stderr from a goroutine of its own: a reader of
// stderr that has stopped reading must not keep us from killing a command
// whose lock is lost.
type printer struct {
	quiet bool
	done  chan struct{} // closed when all is out

	mu    sync.Mutex
	lines chan string // guarded by mu, for sending; nil after close
}

// newPrinter starts a printer; close ends it.
func newPrinter(w io.Writer, quiet bool) *printer {
	lines := make(chan string, 64)
	p := &printer{quiet: quiet, lines: lines, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range lines {
			io.WriteString(w, line) // nobody to tell when stderr is broken
		}
	}()
	return p
}

// errorf prints a line, also with -q.
func (p *printer) errorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.lines <- "zksync: " + fmt.Sprintf(format, args...) + "\n":
	default: // nobody reads: the line is worth less than our going on
	}
}

// notef prints a line unless -q was given.
func (p *printer) notef(format string, args ...any) {
	if !p.quiet {
		p.errorf(format, args...)
	}
}

// close waits until what was printed is out, for at most a second. What comes
// later, from work that was abandoned, is dropped.
func (p *printer) close() {
	p.mu.Lock()
	if p.lines != nil {
		close(p.lines)
		p.lines = nil
	}
	p.mu.Unlock()
	select {
	case <-p.done:
	case <-time.After(time.Second):
	}
}
