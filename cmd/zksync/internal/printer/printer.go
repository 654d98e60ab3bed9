// Package printer writes the program's own lines to its stderr.
//
// A reader of stderr that has stopped reading must not keep the program from
// killing a command whose lock is lost. Therefore one goroutine does all the
// writing, and the program only hands lines over to it.
//
// Invariants: no method waits for the reader longer than its documentation
// says, and most do not wait at all. Lines keep their order. A line that finds
// no room is dropped, as is a line that comes after Close.
package printer

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Printer writes lines in the order in which it is given them. Its methods may
// be called by any goroutine. [New] makes one.
type Printer struct {
	quiet bool
	done  chan struct{} // closed when everything is written after Close

	mu    sync.Mutex
	lines chan line // guarded by mu, for sending; nil after Close
}

// line is a text to write, or a channel to close when the text before it is
// written.
type line struct {
	text    string
	written chan struct{}
}

// New starts a printer that writes to w. A quiet printer drops notes. Close
// ends the printer; its goroutine ends then, or when a blocked w returns.
func New(w io.Writer, quiet bool) *Printer {
	lines := make(chan line, 64)
	p := &Printer{quiet: quiet, lines: lines, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for l := range lines {
			if l.written != nil {
				close(l.written)
				continue
			}
			_, _ = io.WriteString(w, l.text) // there is nowhere to report a broken stderr
		}
	}()
	return p
}

// Errorf prints a line that starts with the program's name.
func (p *Printer) Errorf(format string, args ...any) {
	p.send(line{text: "zksync: " + fmt.Sprintf(format, args...) + "\n"})
}

// Notef is Errorf, but does nothing if the printer is quiet.
func (p *Printer) Notef(format string, args ...any) {
	if !p.quiet {
		p.Errorf(format, args...)
	}
}

// Write prints b as it is. It always reports success, even if it drops b.
func (p *Printer) Write(b []byte) (int, error) {
	p.send(line{text: string(b)})
	return len(b), nil
}

// Flush waits until the lines so far are written, for 100 ms at most.
func (p *Printer) Flush() {
	written := make(chan struct{})
	if !p.send(line{written: written}) {
		return
	}
	select {
	case <-written:
	case <-time.After(100 * time.Millisecond):
	}
}

// Close waits until the lines so far are written, for a second at most. Work
// that was abandoned may still print; its lines are dropped.
func (p *Printer) Close() {
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

// send hands l to the goroutine, and reports whether there was room for it.
func (p *Printer) send(l line) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.lines <- l: // never ready after Close: the channel is nil then
		return true
	default:
		return false
	}
}
