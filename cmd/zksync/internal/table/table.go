// Package table prints columns for a person, and knows when to use colours.
//
// Invariants: colours go to a terminal only, and never when NO_COLOR is set. A cell is
// printed as it is: whoever fills it has made foreign text plain (see package text).
package table

import (
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Style paints texts for one writer. [NewStyle] makes one.
type Style struct{ head, good, warn, bad, faint lipgloss.Style }

// NewStyle returns the style for w: one that paints nothing, unless w is a terminal with
// colours that the user wants to see.
func NewStyle(w io.Writer) *Style {
	if colorprofile.Detect(w, os.Environ()) < colorprofile.ANSI {
		return &Style{}
	}
	plain := lipgloss.NewStyle()
	return &Style{
		head:  plain.Bold(true),
		good:  plain.Foreground(lipgloss.Green),
		warn:  plain.Foreground(lipgloss.Yellow),
		bad:   plain.Foreground(lipgloss.Red),
		faint: plain.Faint(true),
	}
}

// Head paints a heading.
func (s *Style) Head(text string) string { return s.head.Render(text) }

// Good paints what is as it should be.
func (s *Style) Good(text string) string { return s.good.Render(text) }

// Warn paints what somebody may have to look at.
func (s *Style) Warn(text string) string { return s.warn.Render(text) }

// Bad paints what is wrong.
func (s *Style) Bad(text string) string { return s.bad.Render(text) }

// Faint paints what is beside the point.
func (s *Style) Faint(text string) string { return s.faint.Render(text) }

// Align is the side at which the cells of a column stand.
type Align bool

// The sides.
const (
	Left  Align = false
	Right Align = true
)

// Column is a column of a table.
type Column struct {
	Head  string
	Align Align
}

// between is what stands between two columns.
const between = "  "

// Write writes a table. A row has one cell for each column. The style may be nil: then
// nothing is painted.
func Write(w io.Writer, s *Style, columns []Column, rows [][]string) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.Head)
		for _, row := range rows {
			widths[i] = max(widths[i], lipgloss.Width(row[i]))
		}
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.Head
	}
	line := lineOf(columns, widths, heads)
	if s != nil {
		line = s.Head(line)
	}
	_, _ = io.WriteString(w, line+"\n") // the caller asks its writer for errors
	for _, row := range rows {
		_, _ = io.WriteString(w, lineOf(columns, widths, row)+"\n")
	}
}

// lineOf returns a row without spaces at its end.
func lineOf(columns []Column, widths []int, cells []string) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteString(between)
		}
		space := strings.Repeat(" ", widths[i]-lipgloss.Width(cells[i]))
		if c.Align == Right {
			b.WriteString(space + cells[i])
		} else {
			b.WriteString(cells[i] + space)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
