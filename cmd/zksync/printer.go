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
	done  chan struct{} // closed when all is out after close

	mu    sync.Mutex
	lines chan line // guarded by mu, for sending; nil after close
}

// line is a text to print, or a question whether what came before is out.
type line struct {
	text string
	out  chan struct{}
}

// newPrinter starts a printer; close ends it.
func newPrinter(w io.Writer, quiet bool) *printer {
	lines := make(chan line, 64)
	p := &printer{quiet: quiet, lines: lines, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for l := range lines {
			if l.out != nil {
				close(l.out)
				continue
			}
			_, _ = io.WriteString(w, l.text) // nobody to tell when stderr is broken
		}
	}()
	return p
}

// errorf prints a line, also with -q.
func (p *printer) errorf(format string, args ...any) {
	p.send(line{text: "zksync: " + fmt.Sprintf(format, args...) + "\n"})
}

// send reports whether there was room for l: where nobody reads, a line is
// worth less than our going on.
func (p *printer) send(l line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.lines <- l:
		return true
	default:
		return false
	}
}

// flush waits until what was printed is out, for a moment at most.
func (p *printer) flush() {
	out := make(chan struct{})
	if !p.send(line{out: out}) {
		return
	}
	select {
	case <-out:
	case <-time.After(100 * time.Millisecond):
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
