package demo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// judge collects the holds that the workers report, and decides in the end whether
// the lock has kept its promises. The zero value has no holds.
type judge struct {
	holds []held
}

// held is one hold. It ends with the release, or when its context ended, or when
// the kernel says that the process is dead.
type held struct {
	worker     int
	fence      int64
	begin, end int64  // of clock; end is 0 as long as the hold lasts
	how        string // saysRelease, saysLost or heldUntilKilled
}

// heldUntilKilled is how a hold has ended whose worker was killed.
const heldUntilKilled = "killed"

// begin takes note of a hold that begins.
func (j *judge) begin(worker int, fence, at int64) {
	j.holds = append(j.holds, held{worker: worker, fence: fence, begin: at})
}

// end takes note that the worker's hold has ended. It returns nil if the worker
// had none.
func (j *judge) end(worker int, at int64, how string) *held {
	h := j.holder(worker)
	if h != nil {
		h.end, h.how = at, how
	}
	return h
}

// holder returns the hold of a worker that has the lock, or nil.
func (j *judge) holder(worker int) *held {
	for i := range j.holds {
		if h := &j.holds[i]; h.worker == worker && h.end == 0 {
			return h
		}
	}
	return nil
}

// count returns the number of a worker's holds.
func (j *judge) count(worker int) (n int) {
	for _, h := range j.holds {
		if h.worker == worker {
			n++
		}
	}
	return n
}

// gap returns the time from the end of h to the start of the next hold. It returns
// false if there is no next hold.
func (j *judge) gap(h held) (gap time.Duration, found bool) {
	for _, next := range j.holds {
		if d := time.Duration(next.begin - h.end); next.begin > h.begin && (!found || d < gap) {
			gap, found = d, true
		}
	}
	return gap, found
}

// verdict is what a judge has decided.
type verdict struct {
	fences  []int64       // in the order of the holds
	grow    bool          // each is larger than the one before
	closest time.Duration // the shortest time between the end of a hold and the start of the next
	faults  []error       // broken promises
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
		v.checkEnd(h)
		if i == 0 {
			continue
		}
		v.checkFence(holds[i-1], h)
		// The hold that ended last may have begun long before.
		last := slices.MaxFunc(holds[:i], func(a, b held) int { return cmp.Compare(a.end, b.end) })
		v.checkOverlap(last, h)
		if gap := time.Duration(h.begin - last.end); i == 1 || gap < v.closest {
			v.closest = gap
		}
	}
	return v
}

// fault adds a broken promise.
func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf(format, args...))
}

// checkEnd checks that h has ended, and after its start.
func (v *verdict) checkEnd(h held) {
	switch {
	case h.end == 0:
		v.fault("nobody knows when the hold of worker %d with fence %d ended", h.worker+1, h.fence)
	case h.end < h.begin:
		v.fault("the hold of worker %d with fence %d ended before it began", h.worker+1, h.fence)
	}
}

// checkFence checks that the fence has grown from one hold to the next.
func (v *verdict) checkFence(before, h held) {
	if h.fence <= before.fence {
		v.grow = false
		v.fault("fence %d of worker %d came after fence %d of worker %d", h.fence, h.worker+1, before.fence, before.worker+1)
	}
}

// checkOverlap checks that h began after last, the hold before it that ended last.
func (v *verdict) checkOverlap(last, h held) {
	if overlap := time.Duration(last.end - h.begin); overlap > 0 {
		v.fault("worker %d with fence %d and worker %d with fence %d held the lock at the same time, for %v",
			last.worker+1, last.fence, h.worker+1, h.fence, min(overlap, time.Duration(h.end-h.begin)))
	}
}
