package demo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
)

// store is what the lock protects. It refuses a write whose fence is smaller than
// the largest that it has seen. The zero value is empty.
type store struct {
	fence             int64 // the largest so far
	accepted, refused int
}

// write reports whether the store accepts a write.
func (s *store) write(fence int64) bool {
	if fence < s.fence {
		s.refused++
		return false
	}
	s.fence = fence
	s.accepted++
	return true
}

// hold is one hold.
type hold struct {
	fence int64
	since time.Duration
}

// judge decides whether the lock keeps its promises. It is told of the holds in the
// order in which they begin and end. The zero value has heard of none.
type judge struct {
	holds  map[string]hold // that last, by worker
	fences []int64         // of all holds
	faults []string        // broken promises
}

// begin takes in that the hold of a worker begins.
func (j *judge) begin(who string, h hold) {
	for _, other := range slices.Sorted(maps.Keys(j.holds)) {
		j.fault("%s with fence %d and %s with fence %d held the lock at the same time", other, j.holds[other].fence, who, h.fence)
	}
	if n := len(j.fences); n > 0 && h.fence <= j.fences[n-1] {
		j.fault("fence %d of %s came after fence %d", h.fence, who, j.fences[n-1])
	}
	if j.holds == nil {
		j.holds = make(map[string]hold)
	}
	j.holds[who] = h
	j.fences = append(j.fences, h.fence)
}

// end takes in that a worker holds the lock no longer: it releases the lock, or its hold's
// context has ended, or it was killed. It returns how long the hold has lasted, and does
// nothing if there is none.
func (j *judge) end(who string, now time.Duration) time.Duration {
	h := j.holds[who]
	delete(j.holds, who)
	return now - h.since
}

func (j *judge) fault(format string, args ...any) {
	j.faults = append(j.faults, fmt.Sprintf(format, args...))
}

// conclude returns what the demo has shown. Its error means that the lock has not
// kept its promises, or that there was no time to show everything.
func (d *demo) conclude(shown bool) (summary []line, err error) {
	for _, fault := range d.judge.faults {
		summary = append(summary, line{bad, "verdict", "WRONG: " + fault})
	}
	fences := d.judge.fences
	if len(summary) == 0 && (!shown || len(fences) == 0) {
		summary = []line{{bad, "verdict", "not everything could be shown: this machine has not had the time"}}
	}
	if len(summary) > 0 {
		return summary, &exit.Error{Code: exit.Conflict}
	}
	return []line{
		{plain, "fences", fmt.Sprintf("each larger than the one before: %d, from %d to %d", len(fences), fences[0], fences[len(fences)-1])},
		{plain, "store", fmt.Sprintf("%s accepted, %d late and refused", text.Count(d.store.accepted, "write", "writes"), d.store.refused)},
		{good, "verdict", "no two holds overlapped"},
	}, nil
}
