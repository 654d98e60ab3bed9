package demo

import (
	"fmt"
	"io"
	"strings"
)

// terminal shows the picture on a terminal, and draws each over the one before.
// Below the picture it shows the latest events that the picture does not.
type terminal struct {
	out      io.Writer
	size     func() (columns, lines int, ok bool)
	timeline *timeline
	color    bool
	height   int // lines of the picture that is on the terminal
}

// open hides the cursor.
func (t *terminal) open() error {
	_, err := io.WriteString(t.out, "\x1b[?25l")
	return err
}

// close shows the cursor again.
func (t *terminal) close() error {
	_, err := io.WriteString(t.out, "\x1b[?25h")
	return err
}

// update draws the picture anew.
func (t *terminal) update(now int64) error { return t.redraw(now, 0) }

// last draws the picture a last time, and writes the summary below it.
func (t *terminal) last(summary []event, now int64) error {
	if err := t.redraw(now, len(summary)+2); err != nil {
		return err
	}
	b := &brush{color: t.color}
	b.summary(summary)
	_, err := io.WriteString(t.out, b.String())
	return err
}

// redraw draws the picture over the last one, and leaves room for so many lines
// below it.
func (t *terminal) redraw(now int64, room int) error {
	width, height, ok := t.size()
	if !ok {
		width, height = 80, 24
	}
	text := append([]string{t.title(now), ""}, t.timeline.picture(t.color, min(width-1, 120), now)...)
	text = append(text, "", legend(t.color))
	events := t.timeline.latest(min(height, 24) - 2 - room - len(text))
	if len(events) > 0 {
		text = append(text, "")
	}
	for _, e := range events {
		b := &brush{color: t.color}
		b.event(e, t.timeline.since(e.at))
		text = append(text, strings.TrimSuffix(b.String(), "\n"))
	}
	return t.overwrite(text, width)
}

// title returns the first line.
func (t *terminal) title(now int64) string {
	b := &brush{color: t.color}
	b.put(boldPaint, "zksync demo")
	fmt.Fprintf(b, "   %d processes share one lock   %4.1f of %v s",
		len(t.timeline.rows), t.timeline.since(now).Seconds(), t.timeline.length.Seconds())
	return b.String()
}

// overwrite writes text over the lines of the picture before. No line wraps.
func (t *terminal) overwrite(text []string, width int) error {
	b := &strings.Builder{}
	if t.height > 0 {
		fmt.Fprintf(b, "\x1b[%dA", t.height)
	}
	for _, line := range text {
		b.WriteString("\r" + clip(line, width-1) + "\x1b[0K\n")
	}
	b.WriteString("\x1b[0J")
	t.height = len(text)
	_, err := io.WriteString(t.out, b.String())
	return err
}
