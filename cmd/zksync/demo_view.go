package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	redrawEvery = 100 * time.Millisecond

	// settle is how long a line waits for others that tell of a moment before
	// it: each worker has a pipe of its own.
	settle = 80 * time.Millisecond
)

// view shows a timeline while it grows, from a goroutine of its own: nobody
// need read what we write.
type view struct {
	out      io.Writer
	timeline *timeline
	terminal *os.File // nil: lines, nothing is drawn over
	color    bool

	summary chan []event // what comes last
	done    chan struct{}
	err     error // of writing, after done

	height int // lines of the picture on the terminal
}

// newView starts a view of t; finish ends it.
func newView(out io.Writer, t *timeline) *view {
	v := &view{out: out, timeline: t, summary: make(chan []event, 1), done: make(chan struct{})}
	if f, ok := out.(*os.File); ok {
		columns, lines, ok := terminalSize(f)
		if ok && columns >= 80 && lines >= len(t.rows)+8 && os.Getenv("TERM") != "dumb" {
			v.terminal = f
			v.color = os.Getenv("NO_COLOR") == ""
		}
	}
	go func() {
		defer close(v.done)
		v.err = v.run()
	}()
	return v
}

// finish shows the last lines. The view is over when done is closed.
func (v *view) finish(summary []event) { v.summary <- summary }

func (v *view) run() error {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	if v.terminal != nil {
		if _, err := io.WriteString(v.out, "\x1b[?25l"); err != nil { // no cursor
			return err
		}
		defer fmt.Fprint(v.out, "\x1b[?25h")
	}
	for {
		select {
		case <-tick.C:
			if err := v.show(clock(), false, 0); err != nil {
				return err
			}
		case last := <-v.summary:
			return v.last(last)
		}
	}
}

// show brings what is seen up to date: of lines, those that have settled or
// all; of a terminal, all but room lines.
func (v *view) show(now int64, all bool, room int) error {
	if v.terminal != nil {
		return v.redraw(now, room)
	}
	b := &brush{}
	t := v.timeline
	t.mu.Lock()
	for ; t.shown < len(t.log); t.shown++ {
		e := t.log[t.shown]
		if !all && e.at > now-int64(settle) {
			break
		}
		t.line(b, e)
	}
	t.mu.Unlock()
	_, err := io.WriteString(v.out, b.String())
	return err
}

// line writes an event of the log.
func (t *timeline) line(b *brush, e event) {
	b.put(dimPaint, fmt.Sprintf("%7.3f", t.since(e.at).Seconds()))
	fmt.Fprintf(b, "  %-*s", nameWidth, e.who)
	b.put(e.tone.paint(), e.text)
	b.WriteString("\n")
}

func (t tone) paint() paint {
	return [...]paint{plainTone: noPaint, goodTone: greenPaint, warnTone: warnPaint, badTone: redPaint}[t]
}

// redraw draws the picture over the last one.
func (v *view) redraw(now int64, room int) error {
	width, height, ok := terminalSize(v.terminal)
	if !ok {
		width, height = 80, 24
	}
	t := v.timeline
	lines := append([]string{v.title(now), ""}, t.picture(v.color, min(width-1, 120), now)...)
	lines = append(lines, "", legend(v.color))
	t.mu.Lock()
	var tail []string
	for i := len(t.log) - 1; i >= 0 && len(lines)+len(tail) < min(height, 24)-2-room; i-- {
		if !t.log[i].routine {
			b := &brush{color: v.color}
			t.line(b, t.log[i])
			tail = append([]string{strings.TrimSuffix(b.String(), "\n")}, tail...)
		}
	}
	t.mu.Unlock()
	if len(tail) > 0 {
		lines = append(append(lines, ""), tail...)
	}
	return v.over(lines, width)
}

// title says what this is.
func (v *view) title(now int64) string {
	b := &brush{color: v.color}
	t := v.timeline
	b.put(boldPaint, "zksync demo")
	fmt.Fprintf(b, "   %d processes share one lock   %4.1f of %v s", len(t.rows), t.since(now).Seconds(), t.length.Seconds())
	return b.String()
}

// over writes lines over those of the picture before. A line never wraps.
func (v *view) over(lines []string, width int) error {
	b := &strings.Builder{}
	if v.height > 0 {
		fmt.Fprintf(b, "\x1b[%dA", v.height)
	}
	for _, l := range lines {
		b.WriteString("\r" + clip(l, width-1) + "\x1b[0K\n")
	}
	b.WriteString("\x1b[0J")
	v.height = len(lines)
	_, err := io.WriteString(v.out, b.String())
	return err
}

// clip cuts a line after so many columns. Sequences that set colours have none.
func clip(line string, width int) string {
	columns, escape := 0, false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case columns >= width:
			return -1
		default:
			columns++
		}
		return r
	}, line)
}

// last shows what is left, and the summary.
func (v *view) last(summary []event) error {
	t := v.timeline
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	now := clock()
	if err := v.show(now, true, len(summary)+2); err != nil {
		return err
	}
	b := &brush{color: v.color}
	if v.terminal == nil {
		b.WriteString("\n")
		for _, l := range t.picture(false, 79, now) {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
		b.WriteString("\n" + legend(false) + "\n")
	}
	b.WriteString("\n")
	for _, e := range summary {
		fmt.Fprintf(b, "%-*s", nameWidth, e.who)
		b.put(e.tone.paint(), e.text)
		b.WriteString("\n")
	}
	_, err := io.WriteString(v.out, b.String())
	return err
}
