package demo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
)

const (
	nameWidth  = 10 // of the names before the rows
	countWidth = 8  // of the numbers of holds after them
)

// look is how the picture shows a worker after something has happened to it.
type look struct {
	mark  string // for the moment when it happened
	char  string // for the time that follows
	paint lipgloss.Style
}

// looks has the look of everything that changes what a worker does.
var looks = map[what]look{
	started:  {char: " "},
	waiting:  {char: ".", paint: faint},
	holding:  {char: "#", paint: tones[good].Background(lipgloss.Green)},
	released: {char: " "},
	lost:     {mark: "!", char: "~", paint: tones[bad]},
	killed:   {mark: "X", char: " "},
	back:     {char: " "},
}

var (
	faint      = lipgloss.NewStyle().Faint(true)
	fencePaint = lipgloss.NewStyle().Foreground(lipgloss.Black).Background(lipgloss.Green)
	markPaint  = lipgloss.NewStyle().Foreground(lipgloss.BrightWhite).Background(lipgloss.Red)
)

// draw returns so many columns of this look. A fence that fits is in the middle of them.
func (l look) draw(columns int, fence int64) string {
	if columns == 0 {
		return ""
	}
	if l.mark != "" {
		return markPaint.Render(l.mark) + look{char: l.char, paint: l.paint}.draw(columns-1, fence)
	}
	label := strconv.FormatInt(fence, 10)
	if fence == 0 || len(label) > columns {
		return l.paint.Render(strings.Repeat(l.char, columns))
	}
	return lipgloss.PlaceHorizontal(columns, lipgloss.Center, fencePaint.Render(label),
		lipgloss.WithWhitespaceChars(l.char), lipgloss.WithWhitespaceStyle(l.paint))
}

// scale says which moment a column of the picture stands for.
type scale struct {
	columns int
	total   time.Duration // of all columns
}

// column returns the first column whose middle a moment does not exceed.
func (s scale) column(moment time.Duration) int {
	return int(math.Ceil(float64(moment)/float64(s.total)*float64(s.columns) - 0.5))
}

// axis returns a line with the seconds above the columns where they begin.
func (s scale) axis() (line string) {
	step := time.Second
	for s.column(step) < 4 {
		step += time.Second // a number and the space after it need four columns
	}
	for at := time.Duration(0); at <= s.total; at += step {
		line = fmt.Sprintf("%-*s%.0f", nameWidth+s.column(at), line, at.Seconds())
		if at == 0 {
			line += " s"
		}
	}
	return line
}

// picture returns the lines of the picture at a moment, width columns wide: an axis with
// seconds, a row for each worker, and an explanation. A column shows what the worker did
// at the moment in its middle. That moment is the same in all rows, so two rows show a
// hold in the same column only if two workers held the lock at the same time.
func (s *story) picture(width int, now time.Duration) []string {
	sc := scale{columns: max(width-nameWidth-1-countWidth, 20), total: max(s.length, now)}
	lines := []string{"", sc.axis()}
	for _, who := range s.workers {
		lines = append(lines, fmt.Sprintf("%-*s", nameWidth, who)+s.row(who, sc, now))
	}
	return append(lines, "", legend())
}

// row returns a worker's row, and the number of its holds.
func (s *story) row(who string, sc scale, now time.Duration) string {
	var row strings.Builder
	last, drawn, holds := report{What: started}, 0, 0
	drawTo := func(column int) {
		row.WriteString(looks[last.What].draw(column-drawn, last.Fence))
		drawn = column
	}
	for _, e := range s.events {
		if _, ok := looks[e.What]; !ok || e.Who != who {
			continue
		}
		drawTo(sc.column(e.at))
		if last = e.report; last.What == holding {
			holds++
		}
	}
	drawTo(sc.column(now))
	return row.String() + strings.Repeat(" ", sc.columns-drawn) + " " + text.Count(holds, "hold", "holds")
}

// legend returns a line that explains the picture's signs.
func legend() string {
	return fmt.Sprintf("%*s%s holds (fence 12)  %s waits  %s cut off  %s killed  %s lost", nameWidth, "",
		looks[holding].draw(4, 12), looks[waiting].draw(3, 0), tones[bad].Render("~~~"), markPaint.Render("X"), markPaint.Render("!"))
}
