package demo

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// screen shows a story while it grows: the log, and the picture below it. On a terminal
// that is large enough, it draws the picture again and again, each over the one before,
// and leaves out of the log what the picture shows. Elsewhere it draws the picture at the
// end, without control sequences. A goroutine of its own writes: the output may have no
// reader.
type screen struct {
	story  *story
	live   bool       // on a terminal
	width  func() int // of the output
	logged int        // how many events of the story are in the log
	height int        // of the picture that is on the terminal
	over   bool

	texts chan string
	done  chan struct{} // closed when everything is written, or after an error
	err   error         // of writing; to be read after done
}

// newScreen starts a screen on out; finish ends it.
func newScreen(out io.Writer, s *story) *screen {
	v := &screen{story: s, width: func() int { return 80 }, texts: make(chan string, 2), done: make(chan struct{})}
	w := &colorprofile.Writer{Forward: out, Profile: colorprofile.NoTTY} // drops all control sequences
	f, _ := out.(*os.File)
	if columns, lines := terminalSize(f); columns >= 80 && lines >= len(s.workers)+8 {
		v.live, v.width = true, func() int { columns, _ := terminalSize(f); return columns }
		w.Profile = colorprofile.ANSI
		if os.Getenv("NO_COLOR") != "" {
			w.Profile = colorprofile.ASCII // drops those of colours
		}
		v.texts <- ansi.HideCursor
	}
	go func() {
		defer close(v.done)
		for text := range v.texts {
			if _, err := io.WriteString(w, text); err != nil {
				v.err = &exit.Error{Code: exit.OS, Err: err}
				return
			}
		}
	}()
	return v
}

// terminalSize returns the size of a terminal that can draw, and zeros if f is none. One
// that does not know its size has 80 columns and 24 lines. On Windows there is none: not
// each terminal there knows control sequences.
func terminalSize(f *os.File) (columns, lines int) {
	if f == nil || os.Getenv("TERM") == "dumb" || runtime.GOOS == "windows" {
		return 0, 0
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err == nil && (columns == 0 || lines == 0) {
		return 80, 24
	}
	return columns, lines // zeros after an error
}

// update shows what is new, unless the output is busy with what came before.
func (v *screen) update() {
	if len(v.texts) == 0 && !v.over {
		v.texts <- v.text(v.live)
	}
}

// finish shows everything, and the summary, as soon as the output takes it.
func (v *screen) finish(summary []line) {
	v.over = true
	text := v.text(true) + "\n"
	for _, l := range summary {
		text += l.String() + "\n"
	}
	v.texts <- text + ansi.ShowCursor
	close(v.texts)
}

// text returns the new lines of the log, and the picture if it is wanted. They take the
// place of the picture before.
func (v *screen) text(picture bool) string {
	var lines []string
	for _, e := range v.story.events[v.logged:] {
		if !v.live || e.line.tone != routine {
			lines = append(lines, faint.Render(fmt.Sprintf("%7.3f", e.at.Seconds()))+"  "+e.line.String())
		}
	}
	v.logged = len(v.story.events)
	var b strings.Builder
	if v.height > 0 {
		b.WriteString(ansi.CursorUp(v.height) + "\r")
	}
	width := v.width()
	if picture {
		drawn := v.story.picture(min(width, 120)-1, v.story.now())
		v.height = len(drawn)
		lines = append(lines, drawn...)
	}
	for _, l := range lines {
		b.WriteString(ansi.Truncate(l, width-1, "") + ansi.EraseLineRight + "\n")
	}
	return b.String() + ansi.EraseScreenBelow
}
