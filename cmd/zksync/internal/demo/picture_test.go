package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestDemoPicture(t *testing.T) {
	s := newStory(2, 10*time.Second)
	add := func(at float64, worker int, w what, fence int64) {
		s.events = append(s.events, event{at: seconds(at), report: report{Who: s.workers[worker-1], What: w, Fence: fence}})
	}
	add(0.1, 1, started, 0)
	add(1, 1, waiting, 0)
	add(2, 1, holding, 12)
	add(4, 1, killed, 0)
	add(0.5, 2, waiting, 0)
	add(4, 2, holding, 1234567)
	add(5, 2, "", 0) // only a line
	add(6, 2, lost, 0)
	add(7, 2, back, 0)
	add(8, 2, waiting, 0)
	want := []string{
		"",
		"          0 s 1   2   3   4   5   6   7   8   9   10",
		"worker 1      ....###12###X                        1 hold",
		"worker 2    ..............1234567#!~~~    ....     1 hold",
		"",
		"          #12# holds (fence 12)  ... waits  ~~~ cut off  X killed  ! lost",
	}
	got := ansi.Strip(strings.Join(s.picture(nameWidth+40+1+countWidth, seconds(9)), "\n"))
	if got != strings.Join(want, "\n") {
		t.Errorf("the picture is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Neighbours of the same paint share a sequence.
func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		what  what
		drawn string
	}{
		{started, "    "},
		{waiting, "\x1b[2m....\x1b[m"},
		{holding, "\x1b[32;42m####\x1b[m"},
		{released, "    "},
		{lost, "\x1b[97;41m!\x1b[m\x1b[31m~~~\x1b[m"},
		{back, "    "},
		{killed, "\x1b[97;41mX\x1b[m   "},
	} {
		l := looks[tt.what]
		if drawn := l.draw(4, 0); drawn != tt.drawn {
			t.Errorf("%q is drawn as %q, want %q", tt.what, drawn, tt.drawn)
		}
		if drawn := l.draw(0, 0); drawn != "" {
			t.Errorf("%q is drawn as %q where there is no room", tt.what, drawn)
		}
	}
}

func TestFences(t *testing.T) {
	for _, tt := range []struct {
		columns int
		fence   int64
		want    string
	}{
		{3, 7, "#7#"}, {4, 7, "#7##"}, {2, 42, "42"}, {2, 123, "##"}, {5, 123, "#123#"}, {0, 7, ""},
	} {
		if got := ansi.Strip(looks[holding].draw(tt.columns, tt.fence)); got != tt.want {
			t.Errorf("fence %d in %d columns: %q, want %q", tt.fence, tt.columns, got, tt.want)
		}
	}
	if got, want := looks[holding].draw(4, 12), "\x1b[32;42m#\x1b[m\x1b[30;42m12\x1b[m\x1b[32;42m#\x1b[m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A moment is in the column of which it is not past the middle. What is past the last
// middle is in no column.
func TestScale(t *testing.T) {
	s := scale{columns: 4, total: 80}
	for moment, want := range map[time.Duration]int{0: 0, 10: 0, 11: 1, 70: 3, 71: 4, 80: 4} {
		if got := s.column(moment); got != want {
			t.Errorf("%d is in column %d, want %d", moment, got, want)
		}
	}
}

func TestAxis(t *testing.T) {
	for _, tt := range []struct {
		columns int
		seconds float64
		want    string
	}{
		{60, 10.1, "          0 s   1     2     3     4     5     6     7     8    9     10"},
		{20, 10, "          0 s 2   4   6   8   10"},
		{60, 70, "          0 s 5    10  15  20  25   30  35  40   45  50  55  60   65  70"},
	} {
		if got := (scale{columns: tt.columns, total: seconds(tt.seconds)}).axis(); got != tt.want {
			t.Errorf("%v s in %d columns:\n%s, want\n%s", tt.seconds, tt.columns, got, tt.want)
		}
	}
}
