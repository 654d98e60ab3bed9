package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is what the exporter prints of one.
type span struct {
	Name               string
	SpanContext        ids
	Parent             ids
	StartTime, EndTime time.Time
	Links              []struct {
		SpanContext ids
		Attributes  []attr
	}
	Attributes, Resource []attr
}

type ids struct{ TraceID, SpanID string }

type attr struct {
	Key   string
	Value struct{ Value any }
}

func value(list []attr, key string) string {
	for _, a := range list {
		if a.Key == key {
			return fmt.Sprint(a.Value.Value)
		}
	}
	return ""
}

func (s span) process() string { return value(s.Resource, "service.name") }

// cell is the time that one character stands for.
const cell = 50 * time.Millisecond

// picture is what is known of the spans before they are drawn.
type picture struct {
	at    map[ids]span
	begin time.Time // of the first span
	width int       // in characters
}

// draw draws the spans of each process on one scale of time, and writes the links
// between processes below.
func draw(spans []span) string {
	// Children come after their parents, also of the same time.
	slices.SortStableFunc(spans, func(a, b span) int {
		if c := strings.Compare(a.process(), b.process()); c != 0 {
			return c
		}
		if c := a.StartTime.Compare(b.StartTime); c != 0 {
			return c
		}
		return b.EndTime.Compare(a.EndTime)
	})
	p := newPicture(spans)
	var b, links strings.Builder
	p.scale(&b)
	last := ""
	for _, s := range spans {
		label := ""
		if name := s.process(); name != last {
			last, label = name, name
		}
		p.bar(&b, label, s)
		p.links(&links, s)
	}
	return b.String() + "\n" + links.String()
}

func newPicture(spans []span) *picture {
	p := &picture{at: make(map[ids]span), begin: spans[0].StartTime}
	end := spans[0].EndTime
	for _, s := range spans {
		p.at[s.SpanContext] = s
		if s.EndTime.After(end) {
			end = s.EndTime
		}
	}
	p.width = int(end.Sub(p.begin)/cell) + 3
	return p
}

// scale writes the line with the seconds.
func (p *picture) scale(b *strings.Builder) {
	fmt.Fprintf(b, "%-10s0 s", "")
	for sec := 1; sec*int(time.Second/cell) < p.width; sec++ {
		gap := int(time.Second / cell)
		if sec == 1 {
			gap -= len(" s")
		}
		fmt.Fprintf(b, "%*d", gap, sec)
	}
	b.WriteByte('\n')
}

// bar writes the line of a span.
func (p *picture) bar(b *strings.Builder, label string, s span) {
	depth := 0
	for up, ok := p.at[s.Parent]; ok; up, ok = p.at[up.Parent] {
		depth++
	}
	from := int(s.StartTime.Sub(p.begin) / cell)
	long := max(1, int(s.EndTime.Sub(p.begin)/cell)-from)
	fmt.Fprintf(b, "%-10s%-*s%s%s\n", label, p.width,
		strings.Repeat(" ", from)+strings.Repeat(mark(s.Name), long), strings.Repeat("  ", depth), s.Name)
}

// links writes a line for each span that blocked s.
func (p *picture) links(b *strings.Builder, s span) {
	for _, l := range s.Links {
		if to, ok := p.at[l.SpanContext]; ok && value(l.Attributes, "zksync.link.relation") == "blocked_by" {
			fmt.Fprintf(b, "%q of %s has a link to %q of %s: blocked by %s (pid %s)\n", s.Name, s.process(), to.Name, to.process(),
				value(l.Attributes, "zksync.blocked_by.identity"), value(l.Attributes, "zksync.blocked_by.pid"))
		}
	}
}

// mark returns the character by which a span is drawn.
func mark(name string) string {
	switch {
	case strings.HasPrefix(name, "acquire"):
		return "~"
	case strings.HasPrefix(name, "hold"):
		return "#"
	}
	return "."
}
