package demo

import (
	"io"
	"strings"
	"time"
)

// settle is how long a line waits for others about moments before its own. Such
// lines may come later, because each worker has a pipe of its own.
const settle = 80 * time.Millisecond

// lines shows each event as a line, and the picture at the end. It writes no
// control sequences.
type lines struct {
	out      io.Writer
	timeline *timeline
}

func (l *lines) open() error  { return nil }
func (l *lines) close() error { return nil }

// update writes the events that have settled.
func (l *lines) update(now int64) error { return l.write(now - int64(settle)) }

// write writes the events up to a moment.
func (l *lines) write(until int64) error {
	b := &brush{}
	for _, e := range l.timeline.next(until) {
		b.event(e, l.timeline.since(e.at))
	}
	_, err := io.WriteString(l.out, b.String())
	return err
}

// last writes the remaining events, the picture and the summary.
func (l *lines) last(summary []event, now int64) error {
	if err := l.write(endOfTime); err != nil {
		return err
	}
	b := &brush{}
	b.WriteString("\n")
	for _, line := range l.timeline.picture(false, 79, now) {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n" + legend(false) + "\n")
	b.summary(summary)
	_, err := io.WriteString(l.out, b.String())
	return err
}
