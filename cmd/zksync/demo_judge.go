package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// judge collects holds as the workers have seen them, and says in the end
// whether the lock did what it is for.
type judge struct {
	holds []held
}

// held is one hold. Its end is the release, or the instant its context ended,
// or that of the kernel's word that the process is dead.
type held struct {
	worker     int
	fence      int64
	begin, end int64  // of clock; no end as long as it is 0
	how        string // saysRelease, saysLost or heldUntilKilled
}

const heldUntilKilled = "killed"

// begin notes that a worker has the lock.
func (j *judge) begin(worker int, fence, at int64) {
	j.holds = append(j.holds, held{worker: worker, fence: fence, begin: at})
}

// end notes that a worker has the lock no more. It returns nil if it had not.
func (j *judge) end(worker int, at int64, how string) *held {
	for i := range j.holds {
		if h := &j.holds[i]; h.worker == worker && h.end == 0 {
			h.end, h.how = at, how
			return h
		}
	}
	return nil
}

// holder returns the hold of a worker that has the lock; nil if it has not.
func (j *judge) holder(worker int) *held {
	for i := range j.holds {
		if h := &j.holds[i]; h.worker == worker && h.end == 0 {
			return h
		}
	}
	return nil
}

// count is the number of a worker's holds.
func (j *judge) count(worker int) (n int) {
	for _, h := range j.holds {
		if h.worker == worker {
			n++
		}
	}
	return n
}

// gap is the time from a hold's end to the begin of the next.
func (j *judge) gap(h held) (gap time.Duration, found bool) {
	for _, next := range j.holds {
		if d := time.Duration(next.begin - h.end); next.begin > h.begin && (!found || d < gap) {
			gap, found = d, true
		}
	}
	return gap, found
}

// verdict is what a judge says.
type verdict struct {
	fences  []int64       // in the order of the holds
	grow    bool          // each is larger than the one before
	closest time.Duration // between the end of a hold and the begin of the next
	faults  []error       // what must not be
}

// verdict compares every hold with those that began before it.
func (j *judge) verdict() verdict {
	holds := slices.Clone(j.holds)
	slices.SortStableFunc(holds, func(a, b held) int { return cmp.Compare(a.begin, b.begin) })
	v := verdict{grow: true}
	if len(holds) == 0 {
		v.faults = append(v.faults, errors.New("nobody ever held the lock"))
	}
	for i, h := range holds {
		v.fences = append(v.fences, h.fence)
		switch {
		case h.end == 0:
			v.faults = append(v.faults, fmt.Errorf("nobody knows when the hold of worker %d with fence %d ended", h.worker+1, h.fence))
		case h.end < h.begin:
			v.faults = append(v.faults, fmt.Errorf("the hold of worker %d with fence %d ended before it began", h.worker+1, h.fence))
		}
		if i == 0 {
			continue
		}
		if before := holds[i-1]; h.fence <= before.fence {
			v.grow = false
			v.faults = append(v.faults, fmt.Errorf("fence %d of worker %d came after fence %d of worker %d", h.fence, h.worker+1, before.fence, before.worker+1))
		}
		// The one that ended last may have begun long before.
		last := slices.MaxFunc(holds[:i], func(a, b held) int { return cmp.Compare(a.end, b.end) })
		gap := time.Duration(h.begin - last.end)
		if gap < 0 {
			v.faults = append(v.faults, fmt.Errorf("worker %d with fence %d and worker %d with fence %d held the lock at the same time, for %v",
				last.worker+1, last.fence, h.worker+1, h.fence, min(-gap, time.Duration(h.end-h.begin))))
		}
		if i == 1 || gap < v.closest {
			v.closest = gap
		}
	}
	return v
}

// store is what the lock protects. It refuses a write whose fence is smaller
// than the largest it has seen.
type store struct {
	fence             int64
	accepted, refused int
}

// write reports whether the store takes a write.
func (s *store) write(fence int64) bool {
	if fence < s.fence {
		s.refused++
		return false
	}
	s.fence = fence
	s.accepted++
	return true
}
