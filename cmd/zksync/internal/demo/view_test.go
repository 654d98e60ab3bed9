package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// testTimeline has a hold of one worker in its first half second, and events about
// it.
func testTimeline() *timeline {
	t := newTimeline(1, time.Second)
	t.start = 0
	t.turn(0, span{from: 0, doing: holding, fence: 7})
	t.turn(0, span{from: int64(time.Second / 2), doing: idle})
	t.record(event{at: 0, who: "worker 1", text: "HOLDS", routine: true})
	t.record(event{at: int64(time.Second / 2), who: "store", text: "news", tone: goodTone})
	return t
}

var testSummary = []event{{who: "verdict", text: "fine", tone: goodTone}}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := &lines{out: &out, timeline: testTimeline()}
	if err := l.update(int64(time.Second / 2)); err != nil { // the second event has not settled
		t.Fatal(err)
	}
	if got, want := out.String(), "  0.000  worker 1  HOLDS\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	out.Reset()
	l.timeline.end()
	if err := l.last(testSummary, int64(time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  0.500  store     news\n\n",
		"\nworker 1  ##############7###############" + strings.Repeat(" ", 31) + "1 hold\n\n",
		"#12# holds (fence 12)",
		"\n\nverdict   fine\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q misses %q", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("a control sequence")
	}
}

// A picture is drawn over the one before: the cursor goes up by as many lines as
// that has.
func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	tty := &terminal{
		out: &out, timeline: testTimeline(), color: true,
		size: func() (int, int, bool) { return 80, 24, true },
	}
	if err := tty.update(int64(time.Second)); err != nil {
		t.Fatal(err)
	}
	first := out.String()
	if !strings.HasPrefix(first, "\r\x1b[1mzksync demo") || !strings.Contains(first, "news") || strings.Contains(first, "HOLDS") {
		t.Errorf("the first picture is %q", first)
	}
	out.Reset()
	if err := tty.last(testSummary, int64(time.Second)); err != nil {
		t.Fatal(err)
	}
	up := fmt.Sprintf("\x1b[%dA\r", strings.Count(first, "\n"))
	if got := out.String(); !strings.HasPrefix(got, up) || !strings.HasSuffix(got, "\x1b[0J\nverdict   \x1b[32mfine\x1b[0m\n") {
		t.Errorf("the last picture is %q; it should begin with %q", got, up)
	}
}

// A broken output ends the view, and the view says why.
func TestViewOfBrokenOutput(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	v := newView(w, testTimeline())
	<-v.done
	if !errors.Is(v.err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", v.err)
	}
}
