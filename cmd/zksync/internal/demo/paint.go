package demo

import (
	"fmt"
	"strings"
)

// paint is how a piece of text looks: the parameters of an SGR sequence.
type paint string

const (
	noPaint    paint = ""
	boldPaint  paint = "1"
	dimPaint   paint = "2"
	holdPaint  paint = "30;42" // black on green
	doubtPaint paint = "30;43" // black on yellow
	badPaint   paint = "97;41" // white on red
	redPaint   paint = "31"
	greenPaint paint = "32"
	warnPaint  paint = "33"
)

// paint returns how an event of this tone looks.
func (t tone) paint() paint {
	return [...]paint{plainTone: noPaint, goodTone: greenPaint, warnTone: warnPaint, badTone: redPaint}[t]
}

// brush writes text, with colours or without.
type brush struct {
	strings.Builder
	color bool
}

// put writes text in a paint.
func (b *brush) put(p paint, text string) {
	if p == noPaint || !b.color {
		b.WriteString(text)
		return
	}
	fmt.Fprintf(b, "\x1b[%sm%s\x1b[0m", p, text)
}

// clip cuts a line off after width columns. Sequences that set colours take up no
// column, and stay.
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
