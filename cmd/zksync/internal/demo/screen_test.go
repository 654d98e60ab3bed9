package demo

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/hinshun/vt10x"
)

// testStory has a hold of one worker in its first half second, and lines about it.
func testStory() *story {
	s := newStory(1, time.Second)
	s.start = time.Now().Add(-time.Second) // it lasts for a little more than its length
	s.events = []event{
		{report: report{Who: "worker 1", What: holding, Fence: 7}, line: line{routine, "worker 1", "HOLDS"}},
		{at: time.Second / 2, report: report{Who: "worker 1", What: released}, line: line{good, "store", "news"}},
	}
	return s
}

var testSummary = []line{{good, "verdict", "fine"}}

func TestLines(t *testing.T) {
	var b strings.Builder
	v := newScreen(&b, testStory())
	v.finish(testSummary)
	<-v.done
	out := b.String()
	for _, want := range []string{
		"  0.000  worker 1  HOLDS\n",
		"  0.500  store     news\n\n",
		"  1 hold\n\n",
		"#12# holds (fence 12)",
		"\n\nverdict   fine\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q misses %q", out, want)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("a control sequence")
	}
}

// A picture is drawn over the one before: the cursor goes up by as many lines as
// that has. None is drawn before the last one is written. Each line is in the log once.
func TestTerminal(t *testing.T) {
	v := &screen{story: testStory(), live: true, width: func() int { return 80 }, texts: make(chan string, 10)} // whose texts nobody writes
	v.update()
	v.update()
	if len(v.texts) != 1 {
		t.Errorf("%d pictures wait", len(v.texts))
	}
	first := <-v.texts
	_, picture, found := strings.Cut(first, "news\x1b[m"+ansi.EraseLineRight+"\n")
	if !found || strings.Contains(first, "HOLDS") || !strings.Contains(first, "\x1b[30;42m7\x1b[m") {
		t.Errorf("the first picture is %q", first)
	}
	v.finish(testSummary)
	up := fmt.Sprintf("\x1b[%dA\r", strings.Count(picture, "\n"))
	got := <-v.texts
	if !strings.HasPrefix(got, up) || !strings.HasSuffix(got, ansi.EraseScreenBelow+"\nverdict   \x1b[32mfine\x1b[m\n"+ansi.ShowCursor) {
		t.Errorf("the last picture is %q; it should begin with %q", got, up)
	}
	if strings.Contains(got, "news") {
		t.Error("a line is in the log twice")
	}
}

// No line wraps, however narrow the terminal has become.
func TestNarrowTerminal(t *testing.T) {
	v := &screen{story: testStory(), live: true, width: func() int { return 30 }, texts: make(chan string, 10)}
	v.update()
	for _, l := range strings.Split(<-v.texts, "\n") {
		if n := ansi.StringWidth(l); n > 29 {
			t.Errorf("a line of %d columns: %q", n, l)
		}
	}
}

// A broken output ends the writing, and the screen says why.
func TestScreenOfBrokenOutput(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	v := newScreen(w, testStory())
	v.update()
	<-v.done
	if !errors.Is(v.err, io.ErrClosedPipe) {
		t.Errorf("ended with %v", v.err)
	}
}

// The pictures and the log leave on a terminal what one look at the end would show.
func TestScreenOfTerminal(t *testing.T) {
	v := &screen{story: testStory(), live: true, width: func() int { return 80 }, texts: make(chan string, 10)}
	terminal := vt10x.New(vt10x.WithSize(80, 24))
	show := func() { fmt.Fprint(terminal, strings.ReplaceAll(<-v.texts, "\n", "\r\n")) }
	v.update()
	show()
	v.story.tell(bad, report{Who: "store"}, "a long line that was news: %s", strings.Repeat("x", 80))
	v.update()
	show()
	v.finish(testSummary)
	show()
	var got []string
	for l := range strings.Lines(terminal.String()) {
		got = append(got, strings.TrimRight(l, " \n"))
	}
	want := regexp.MustCompile(`^  0\.500  store     news
  1\.\d{3}  store     a long line that was news: x+

          0 s .*1.*
worker 1  [#7]+ +1 hold

          #12# holds .* lost

verdict   fine
\n*$`)
	if text := strings.Join(got, "\n"); !want.MatchString(text) {
		t.Errorf("the terminal shows\n%s", text)
	}
}
