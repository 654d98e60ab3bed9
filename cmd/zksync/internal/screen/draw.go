package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// View draws the screen, all of the terminal.
func (s *Screen) View() tea.View {
	v := tea.NewView(s.draw())
	v.AltScreen = true
	return v
}

// draw draws a title, what is shown, and at the bottom a message or question and the
// keys.
func (s *Screen) draw() string {
	foot := s.foot()
	room := s.height - len(foot) - 2
	var title, right string
	var body []string
	if s.open == "" {
		title, right, body = s.drawList(room)
	} else {
		title, right, body = s.drawQueue(room)
	}
	lines := []string{s.title(title, right), ""}
	lines = append(lines, body[:min(len(body), max(room, 0))]...)
	for len(lines) < s.height-len(foot) {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	lines = lines[:min(len(lines), max(s.height, 1))]
	cut := lipgloss.NewStyle().MaxWidth(s.width)
	for i, l := range lines {
		lines[i] = cut.Render(l)
	}
	return strings.Join(lines, "\n")
}

// title returns the first line.
func (s *Screen) title(left, right string) string {
	left = text.Cut(left, max(s.width-len(right)-1, 0))
	space := strings.Repeat(" ", max(s.width-lipgloss.Width(left)-len(right), 1))
	return s.style.Head(left) + space + s.style.Faint(right)
}

// foot returns the last lines.
func (s *Screen) foot() []string {
	if q := s.ask; q != nil {
		return []string{s.style.Warn(q.text), q.risk, fmt.Sprintf("Type %s and press enter, or press esc: %s", q.word, q.typed)}
	}
	message := s.message
	switch {
	case s.trouble != "":
		message = s.style.Bad(text.Plain(s.trouble))
	case s.failed:
		message = s.style.Bad(text.Plain(message))
	}
	keys := "up down choose   enter open   r revoke   b break   q quit"
	if s.open != "" {
		keys = "up down choose   esc back   r revoke   b break   q quit"
	}
	return []string{message, s.style.Faint(keys)}
}

// drawList draws the list with the lines that fit.
func (s *Screen) drawList(room int) (title, right string, body []string) {
	name := "locks below " + text.Plain(s.root)
	if s.list == nil {
		return name, "", []string{"reading ..."}
	}
	l := s.list
	title = fmt.Sprintf("%s: %s, %s", name, text.Count(len(l.Locks), "lock", "locks"), text.Count(l.Waiters(), "waiter", "waiters"))
	right = l.At.Local().Format("15:04:05")
	var missing []string
	if m := l.Missing(); m != "" {
		missing = []string{"", s.style.Warn(m)}
	}
	if len(l.Locks) == 0 {
		return title, right, append([]string{"nobody holds a lock here or waits for one"}, missing...)
	}
	from, to := s.locks.window(len(l.Locks), room-1-len(missing))
	body = s.table(view.LockColumns, view.LockRows(l.Locks[from:to], l.At), s.locks.at-from)
	return title, right, append(body, missing...)
}

// nodeColumns are the columns of a queue.
var nodeColumns = []table.Column{
	{Head: "#", Align: table.Right}, {Head: "WAITS FOR", Align: table.Right}, {Head: "IN LINE", Align: table.Right}, {Head: "MODE"}, {Head: "WHO"},
}

// drawQueue draws the queue of the open lock, with the lines that fit, and what is known
// of the selected node.
func (s *Screen) drawQueue(room int) (title, right string, body []string) {
	title = text.Plain(s.open)
	if s.queue == nil {
		return title, "", []string{"reading ..."}
	}
	q := s.queue
	right = q.At.Local().Format("15:04:05")
	if len(q.Nodes) == 0 {
		return title, right, []string{"nobody is in line: the lock is free"}
	}
	title = fmt.Sprintf("%s: %s, %s", title, q.Kind, q.Counts())
	places := q.Places()
	var details strings.Builder
	n := &q.Nodes[s.nodes.at]
	view.WriteNode(&details, s.style, n, s.nodes.at+1, places[n.BlockedBy], q.At)
	below := strings.Split(strings.TrimRight(details.String(), "\n"), "\n")

	from, to := s.nodes.window(len(q.Nodes), room-1-1-len(below))
	var rows [][]string
	for i := from; i < to; i++ {
		n := &q.Nodes[i]
		waits := "holds"
		switch {
		case n.Second:
			waits = "-"
		case !n.Held:
			waits = fmt.Sprint(places[n.BlockedBy])
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), waits, n.AgeText(q.At), n.Mode, n.Who()})
	}
	body = append(s.table(nodeColumns, rows, s.nodes.at-from), "")
	return title, right, append(body, below...)
}

// table returns the lines of a table with a mark at one row.
func (s *Screen) table(columns []table.Column, rows [][]string, at int) []string {
	var b strings.Builder
	table.Write(&b, s.style, columns, rows)
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		if i == at+1 {
			lines[i] = s.style.Head("> " + lines[i])
		} else {
			lines[i] = "  " + lines[i]
		}
	}
	return lines
}
