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
	lines chan string
	done  chan struct{}
	once  sync.Once
}

// newPrinter starts a printer; close ends it.
func newPrinter(w io.Writer, quiet bool) *printer {
	p := &printer{quiet: quiet, lines: make(chan string, 64), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range p.lines {
			io.WriteString(w, line) // nobody to tell when stderr is broken
		}
	}()
	return p
}

// errorf prints a line, also with -q.
func (p *printer) errorf(format string, args ...any) {
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

// close waits until what was printed is out, for at most a second. Nothing may
// be printed afterwards.
func (p *printer) close() {
	p.once.Do(func() { close(p.lines) })
	select {
	case <-p.done:
	case <-time.After(time.Second):
	}
}
