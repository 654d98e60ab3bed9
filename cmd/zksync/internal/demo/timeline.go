package demo

import (
	"math"
	"slices"
	"sync"
	"time"
)

// timeline is everything that has happened so far: a row for each worker, and a
// log. The main loop writes it and the view reads it, each from its goroutine.
type timeline struct {
	start  int64         // of clock
	length time.Duration // how long the demo is meant to last

	mu    sync.Mutex
	rows  []row   // the elements are guarded by mu
	log   []event // guarded by mu; in the order of time
	shown int     // guarded by mu; how many events of log next has returned
	over  bool    // guarded by mu; the demo has ended
}

// row is what has happened to one worker.
type row struct {
	name  string
	spans []span  // in the order of time
	cuts  []int64 // of clock: cut off and back, in turn
	marks []mark
	holds int
}

// span is what a worker does from a moment on, until the next span.
type span struct {
	from  int64
	doing doing
	fence int64 // of a hold
}

// doing is what a worker does.
type doing int

const (
	away doing = iota // it does not run: not yet, not any more, or between
	idle
	waiting
	holding
)

// mark is a moment with a sign of its own.
type mark struct {
	at   int64
	sign byte
}

const (
	signKilled = 'X'
	signLost   = '!'
)

// event is a line of the log.
type event struct {
	at      int64
	who     string
	text    string
	tone    tone
	routine bool // the picture shows it as well
}

// tone is whether an event is good or bad news.
type tone int

const (
	plainTone tone = iota
	goodTone
	warnTone
	badTone
)

// newTimeline returns a timeline that starts now.
func newTimeline(workers int, length time.Duration) *timeline {
	t := &timeline{start: clock(), length: length, rows: make([]row, workers)}
	for i := range t.rows {
		t.rows[i].name = workerName(i)
	}
	return t
}

// since returns the time from the start of the demo to a moment.
func (t *timeline) since(at int64) time.Duration { return time.Duration(at - t.start) }

// turn begins a span of a worker.
func (t *timeline) turn(worker int, s span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.rows[worker]
	if n := len(r.spans); n > 0 {
		// The demo may have seen something later than what the worker reports now.
		s.from = max(s.from, r.spans[n-1].from)
	}
	if s.doing == holding {
		r.holds++
	}
	r.spans = append(r.spans, s)
}

// mark sets a sign in a worker's row.
func (t *timeline) mark(worker int, at int64, sign byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[worker].marks = append(t.rows[worker].marks, mark{at, sign})
}

// cut takes note that a worker is cut off, or is back.
func (t *timeline) cut(worker int, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[worker].cuts = append(t.rows[worker].cuts, at)
}

// record adds an event to the log: where its time puts it, but after all events
// that next has returned.
func (t *timeline) record(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.log)
	for i > t.shown && t.log[i-1].at > e.at {
		i--
	}
	t.log = slices.Insert(t.log, i, e)
}

// endOfTime is later than all events.
const endOfTime = math.MaxInt64

// next returns the events up to a moment that it has not returned before.
func (t *timeline) next(until int64) []event {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.shown
	for t.shown < len(t.log) && t.log[t.shown].at <= until {
		t.shown++
	}
	return slices.Clone(t.log[from:t.shown])
}

// latest returns the last n events that the picture does not show, or all of them
// if there are fewer.
func (t *timeline) latest(n int) []event {
	t.mu.Lock()
	defer t.mu.Unlock()
	var events []event
	for _, e := range slices.Backward(t.log) {
		if len(events) >= n {
			break
		}
		if !e.routine {
			events = append(events, e)
		}
	}
	slices.Reverse(events)
	return events
}

// end takes note that the demo has ended.
func (t *timeline) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// state is what a worker does at a moment.
type state struct {
	span
	cut bool // it is cut off
}

// at returns what the worker does at a moment.
func (r *row) at(moment int64) (s state) {
	for _, x := range r.spans {
		if x.from > moment {
			break
		}
		s.span = x
	}
	for _, c := range r.cuts {
		if c <= moment {
			s.cut = !s.cut
		}
	}
	return s
}
