package demo

import (
	"fmt"
	"io"
	"os"
	"time"
)

// redrawEvery is the time between two updates of what is shown.
const redrawEvery = 100 * time.Millisecond

// view shows a timeline while it grows, from a goroutine of its own: the output
// may have no reader.
type view struct {
	screen   screen
	timeline *timeline

	summary chan []event
	done    chan struct{} // closed when everything is shown, or after an error
	err     error         // of writing; to be read after done
}

// screen is a way of showing a timeline. All methods return an error of writing.
type screen interface {
	open() error
	update(now int64) error                // shows what is new
	last(summary []event, now int64) error // shows everything, and the summary
	close() error                          // called after an error too
}

// newView starts a view of t on out; finish ends it. It draws a picture if out is
// a terminal that is large enough, and writes lines otherwise.
func newView(out io.Writer, t *timeline) *view {
	v := &view{screen: newScreen(out, t), timeline: t, summary: make(chan []event, 1), done: make(chan struct{})}
	go func() {
		defer close(v.done)
		v.err = v.run()
	}()
	return v
}

// newScreen returns what suits out.
func newScreen(out io.Writer, t *timeline) screen {
	if f, ok := out.(*os.File); ok {
		size := func() (columns, lines int, ok bool) { return terminalSize(f) }
		columns, lines, ok := size()
		if ok && columns >= 80 && lines >= len(t.rows)+8 && os.Getenv("TERM") != "dumb" {
			return &terminal{out: out, size: size, timeline: t, color: os.Getenv("NO_COLOR") == ""}
		}
	}
	return &lines{out: out, timeline: t}
}

// finish lets the view show the summary and end.
func (v *view) finish(summary []event) { v.summary <- summary }

// run shows the timeline until finish, and then the summary.
func (v *view) run() error {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	if err := v.screen.open(); err != nil {
		return err
	}
	defer func() { _ = v.screen.close() }()
	for {
		select {
		case <-tick.C:
			if err := v.screen.update(clock()); err != nil {
				return err
			}
		case summary := <-v.summary:
			v.timeline.end()
			return v.screen.last(summary, clock())
		}
	}
}

// event writes an event of the log, a line.
func (b *brush) event(e event, since time.Duration) {
	b.put(dimPaint, fmt.Sprintf("%7.3f", since.Seconds()))
	fmt.Fprintf(b, "  %-*s", nameWidth, e.who)
	b.put(e.tone.paint(), e.text)
	b.WriteString("\n")
}

// summary writes the last lines, after an empty one.
func (b *brush) summary(events []event) {
	b.WriteString("\n")
	for _, e := range events {
		fmt.Fprintf(b, "%-*s", nameWidth, e.who)
		b.put(e.tone.paint(), e.text)
		b.WriteString("\n")
	}
}
