package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// paint is how a piece of text looks: an SGR sequence's parameters.
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

// brush writes text, with colours or without.
type brush struct {
	strings.Builder
	color bool
}

func (b *brush) put(p paint, text string) {
	if p == noPaint || !b.color {
		b.WriteString(text)
		return
	}
	fmt.Fprintf(b, "\x1b[%sm%s\x1b[0m", p, text)
}

const (
	nameWidth = 10 // of the names before the rows
	wordWidth = 8  // of the state after them
)

// picture draws the rows, a second's axis above them, width columns wide, as
// things are at the moment now.
func (t *timeline) picture(color bool, width int, now int64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	columns := max(width-nameWidth-1-wordWidth, 20)
	total := max(t.length, t.since(now))
	moment := func(column int) int64 { // the middle of a column
		return t.start + int64(total)*int64(2*column+1)/int64(2*columns)
	}
	lines := []string{axis(columns, total)}
	for i := range t.rows {
		r := &t.rows[i]
		b := &brush{color: color}
		fmt.Fprintf(b, "%-*s", nameWidth, r.name)
		r.draw(b, columns, moment, now)
		b.WriteString(" ")
		r.word(b, now, t.over)
		lines = append(lines, b.String())
	}
	return lines
}

// axis is a line with the seconds over the columns where they begin.
func axis(columns int, total time.Duration) string {
	line := []byte(strings.Repeat(" ", nameWidth+columns+4))
	step := 1
	for time.Duration(columns*step)*time.Second < 4*total {
		step++ // less than four columns from one number to the next
	}
	for s := 0; time.Duration(s)*time.Second <= total; s += step {
		text := strconv.Itoa(s)
		if s == 0 {
			text = "0 s"
		}
		copy(line[nameWidth+int(int64(columns)*int64(s)*int64(time.Second)/int64(total)):], text)
	}
	return strings.TrimRight(string(line), " ")
}

// cell is one character of a row.
type cell struct {
	char  byte
	paint paint
}

// draw draws a worker's row. A column shows what was in its middle, so that in
// each column only those hold the lock who did at one moment.
func (r *row) draw(b *brush, columns int, moment func(int) int64, now int64) {
	cells := make([]cell, columns)
	var spans []span // of each column
	for c := range cells {
		s, isCut := r.at(moment(c))
		spans = append(spans, s)
		switch {
		case moment(c) > now || s.doing == away:
			cells[c] = cell{' ', noPaint}
		case s.doing == holding && isCut:
			cells[c] = cell{'#', doubtPaint}
		case s.doing == holding:
			cells[c] = cell{'#', holdPaint}
		case isCut:
			cells[c] = cell{'~', redPaint}
		case s.doing == waiting:
			cells[c] = cell{'.', dimPaint}
		default:
			cells[c] = cell{' ', noPaint}
		}
	}
	for from := 0; from < columns; from++ {
		if spans[from].doing != holding || cells[from].char != '#' {
			continue
		}
		to := from
		for to < columns && spans[to] == spans[from] && cells[to].char == '#' {
			to++
		}
		label(cells[from:to], spans[from].fence, b.color)
		from = to - 1
	}
	for _, m := range r.marks {
		c := 0
		for c < columns-1 && moment(c) < m.at {
			c++
		}
		cells[c] = cell{m.sign, badPaint}
	}
	for from := 0; from < columns; {
		to := from
		var text []byte
		for to < columns && cells[to].paint == cells[from].paint {
			text = append(text, cells[to].char)
			to++
		}
		b.put(cells[from].paint, string(text))
		from = to
	}
}

// label writes the fence into the cells of its hold, if it fits.
func label(cells []cell, fence int64, color bool) {
	text := strconv.FormatInt(fence, 10)
	if color { // the colour shows where it begins and ends
		for i := range cells {
			cells[i].char = ' '
		}
	}
	at := 0
	if len(text) > len(cells) {
		return
	}
	at = (len(cells) - len(text)) / 2
	for i := range text {
		cells[at+i].char = text[i]
	}
}

// word says what a worker is doing now, or what it has done in the end.
func (r *row) word(b *brush, now int64, over bool) {
	s, isCut := r.at(now)
	switch {
	case over:
		fmt.Fprintf(b, "%d %s", r.holds, plural(r.holds, "hold"))
	case len(r.spans) == 0:
		b.put(dimPaint, "starts")
	case s.doing == away:
		b.put(badPaint, "killed")
	case isCut && s.doing == holding:
		b.put(doubtPaint, "cut off")
	case isCut:
		b.put(redPaint, "cut off")
	case s.doing == holding:
		b.put(holdPaint, "holds")
	case s.doing == waiting:
		b.put(noPaint, "waits")
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// legend explains the picture's signs.
func legend(color bool) string {
	b := &brush{color: color}
	hold, doubt := "#12#", "#"
	if color {
		hold, doubt = " 12 ", "  "
	}
	b.WriteString(strings.Repeat(" ", nameWidth))
	b.put(holdPaint, hold)
	b.WriteString(" holds (fence 12)  ")
	b.put(dimPaint, "...")
	b.WriteString(" waits  ")
	if color {
		b.put(doubtPaint, doubt)
	} else {
		b.put(redPaint, "~~~")
	}
	if color {
		b.put(redPaint, "~~~")
	}
	b.WriteString(" cut off  ")
	b.put(badPaint, "X")
	b.WriteString(" killed  ")
	b.put(badPaint, "!")
	b.WriteString(" lost")
	return b.String()
}
