package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	nameWidth = 10 // of the names before the rows
	wordWidth = 8  // of the words after them
)

// picture returns the picture at the moment now, width columns wide: an axis with
// seconds, and a row for each worker.
func (t *timeline) picture(color bool, width int, now int64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := max(t.length, t.since(now))
	s := scale{columns: max(width-nameWidth-1-wordWidth, 20), start: t.start, total: int64(total), now: now}
	lines := []string{axis(s.columns, total)}
	for i := range t.rows {
		r := &t.rows[i]
		b := &brush{color: color}
		fmt.Fprintf(b, "%-*s", nameWidth, r.name)
		r.draw(b, s)
		b.WriteString(" ")
		p, word := r.word(now, t.over)
		b.put(p, word)
		lines = append(lines, b.String())
	}
	return lines
}

// axis returns a line with the seconds above the columns where they begin.
func axis(columns int, total time.Duration) string {
	line := []byte(strings.Repeat(" ", nameWidth+columns+4))
	step := 1
	for time.Duration(columns*step)*time.Second < 4*total {
		step++ // a number and the space after it need four columns
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

// word returns what a worker does now, or what it has done once the demo is over.
func (r *row) word(now int64, over bool) (paint, string) {
	s := r.at(now)
	switch {
	case over:
		return noPaint, fmt.Sprintf("%d %s", r.holds, plural(r.holds, "hold"))
	case len(r.spans) == 0:
		return dimPaint, "starts"
	case s.doing == away:
		return badPaint, "killed"
	case s.cut && s.doing == holding:
		return doubtPaint, "cut off"
	case s.cut:
		return redPaint, "cut off"
	case s.doing == holding:
		return holdPaint, "holds"
	case s.doing == waiting:
		return noPaint, "waits"
	}
	return noPaint, ""
}

// legend returns a line that explains the picture's signs.
func legend(color bool) string {
	b := &brush{color: color}
	b.WriteString(strings.Repeat(" ", nameWidth))
	if color {
		b.put(holdPaint, " 12 ")
	} else {
		b.WriteString("#12#")
	}
	b.WriteString(" holds (fence 12)  ")
	b.put(dimPaint, "...")
	b.WriteString(" waits  ")
	if color {
		b.put(doubtPaint, "  ") // cut off while it holds
	}
	b.put(redPaint, "~~~")
	b.WriteString(" cut off  ")
	b.put(badPaint, string(signKilled))
	b.WriteString(" killed  ")
	b.put(badPaint, string(signLost))
	b.WriteString(" lost")
	return b.String()
}
