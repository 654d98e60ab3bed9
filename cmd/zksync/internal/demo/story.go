package demo

import (
	"fmt"
	"time"

	"charm.land/lipgloss/v2"
)

// tone is whether a line is good or bad news.
type tone int

const (
	routine tone = iota // no news: the picture shows it as well
	plain
	good
	warn
	bad
)

// tones says how lines of a tone look.
var tones = [...]lipgloss.Style{
	good: lipgloss.NewStyle().Foreground(lipgloss.Green),
	warn: lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	bad:  lipgloss.NewStyle().Foreground(lipgloss.Red),
}

// line is a line for people.
type line struct {
	tone      tone
	who, text string
}

func (l line) String() string {
	return fmt.Sprintf("%-*s", nameWidth, l.who) + tones[l.tone].Render(l.text)
}

// event is something that has happened.
type event struct {
	at time.Duration // since the start
	report
	line line
}

// story is everything that has happened so far, in the order of time.
type story struct {
	start   time.Time
	length  time.Duration
	workers []string // their names
	events  []event
}

func newStory(workers int, length time.Duration) *story {
	s := &story{start: time.Now(), length: length}
	for i := range workers {
		s.workers = append(s.workers, fmt.Sprintf("worker %d", i+1))
	}
	return s
}

// now returns the time since the start.
func (s *story) now() time.Duration { return time.Since(s.start) }

// tell adds what a report says, in words for people.
func (s *story) tell(t tone, r report, format string, args ...any) {
	s.events = append(s.events, event{at: s.now(), report: r, line: line{t, r.Who, fmt.Sprintf(format, args...)}})
}
