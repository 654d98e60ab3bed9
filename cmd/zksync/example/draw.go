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

// draw shows the spans of each process, on one scale of time, and the links
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
	at := make(map[ids]span)
	begin, end := spans[0].StartTime, spans[0].EndTime
	for _, s := range spans {
		at[s.SpanContext] = s
		if s.EndTime.After(end) {
			end = s.EndTime
		}
	}
	width := int(end.Sub(begin)/cell) + 3
	var b, links strings.Builder
	fmt.Fprintf(&b, "%-10s0 s", "")
	for sec := 1; sec*int(time.Second/cell) < width; sec++ {
		gap := int(time.Second / cell)
		if sec == 1 {
			gap -= len(" s")
		}
		fmt.Fprintf(&b, "%*d", gap, sec)
	}
	b.WriteByte('\n')
	last := ""
	for _, s := range spans {
		label := ""
		if p := s.process(); p != last {
			last, label = p, p
		}
		depth := 0
		for p, ok := at[s.Parent]; ok; p, ok = at[p.Parent] {
			depth++
		}
		from := int(s.StartTime.Sub(begin) / cell)
		long := max(1, int(s.EndTime.Sub(begin)/cell)-from)
		fmt.Fprintf(&b, "%-10s%-*s%s%s\n", label, width,
			strings.Repeat(" ", from)+strings.Repeat(mark(s.Name), long), strings.Repeat("  ", depth), s.Name)
		for _, l := range s.Links {
			if to, ok := at[l.SpanContext]; ok && value(l.Attributes, "zksync.link.relation") == "blocked_by" {
				fmt.Fprintf(&links, "%q of %s has a link to %q of %s: blocked by %s (pid %s)\n", s.Name, s.process(), to.Name, to.process(),
					value(l.Attributes, "zksync.blocked_by.identity"), value(l.Attributes, "zksync.blocked_by.pid"))
			}
		}
	}
	return b.String() + "\n" + links.String()
}

// mark is what a span is drawn with.
func mark(name string) string {
	switch {
	case strings.HasPrefix(name, "acquire"):
		return "~"
	case strings.HasPrefix(name, "hold"):
		return "#"
	}
	return "."
}
