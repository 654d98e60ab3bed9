package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// timeline is what has happened so far: written by the demo, drawn by a view.
type timeline struct {
	start  int64         // of clock
	length time.Duration // how long the demo is meant to last

	mu    sync.Mutex
	rows  []row   // guarded by mu
	log   []event // guarded by mu; in the order of their time
	shown int     // guarded by mu; of the log, what is out already as a line
	over  bool    // guarded by mu
}

// row is what became of one worker.
type row struct {
	name  string
	spans []span // in the order of time
	cuts  []span // away and back in turn: cut off from, cut off to
	marks []mark
	holds int
}

// span is a state from a moment on, until the next span.
type span struct {
	from  int64
	doing doing
	fence int64 // while it holds
}

type doing int

const (
	away doing = iota // not there: not started yet, killed, or at its end
	idle
	waiting
	holding
)

// mark is a single moment worth a sign of its own.
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
	routine bool // seen in the picture as well
}

// tone is how an event is coloured.
type tone int

const (
	plainTone tone = iota
	goodTone
	warnTone
	badTone
)

func newTimeline(workers int, length time.Duration) *timeline {
	t := &timeline{start: clock(), length: length, rows: make([]row, workers)}
	for i := range t.rows {
		t.rows[i].name = workerName(i)
	}
	return t
}

func workerName(i int) string { return fmt.Sprintf("worker %d", i+1) }

// turn begins a worker's new state.
func (t *timeline) turn(worker int, s span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.rows[worker]
	if n := len(r.spans); n > 0 {
		// What the demo has seen itself may be ahead of what a worker says.
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

// cut notes that a worker is cut off, or back.
func (t *timeline) cut(worker int, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[worker].cuts = append(t.rows[worker].cuts, span{from: at})
}

// say adds to the log, where its time puts it.
func (t *timeline) say(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.log)
	for i > t.shown && t.log[i-1].at > e.at {
		i--
	}
	t.log = slices.Insert(t.log, i, e)
}

// since is a moment as the log shows it.
func (t *timeline) since(at int64) time.Duration { return time.Duration(at - t.start) }

// at returns a worker's state at a moment, and whether it is cut off.
func (r *row) at(moment int64) (s span, isCut bool) {
	for _, x := range r.spans {
		if x.from > moment {
			break
		}
		s = x
	}
	for _, c := range r.cuts {
		if c.from <= moment {
			isCut = !isCut
		}
	}
	return s, isCut
}
