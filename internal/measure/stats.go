package measure

import (
	"math/bits"
	"slices"
	"time"
)

// Median returns the middle of some numbers, 0 of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Clone(x)
	slices.Sort(x)
	if n := len(x); n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[len(x)/2]
}

// Jain returns Jain's index of fairness: 1 if all shares are equal, 1/n if one of n has
// everything. Of no shares it is 1.
func Jain(shares []int64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += float64(s)
		squares += float64(s) * float64(s)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// parts is how many classes of a [Times] an octave has: a class is 1.6 % wide on
// average, and at most 3.1 %.
const parts = 32

// Times counts durations by classes. Its zero value is empty. It is a plain value.
type Times struct {
	count   int64
	most    time.Duration
	classes [64 * parts]uint32
}

// Add counts a duration.
func (t *Times) Add(d time.Duration) {
	t.count++
	t.most = max(t.most, d)
	t.classes[class(d)]++
}

// class returns the class of a duration: the octave, and the part of it.
func class(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < parts {
		return int(n)
	}
	octave := bits.Len64(n) - bits.Len64(parts-1) // how many bits to drop
	return octave*parts + int(n>>(octave-1))&(parts-1)
}

// upper returns the largest duration of a class.
func upper(c int) time.Duration {
	octave, part := c/parts, c%parts
	if octave == 0 {
		return time.Duration(part)
	}
	return time.Duration(uint64(parts+part+1)<<(octave-1) - 1)
}

// Merge adds the durations of another one.
func (t *Times) Merge(o *Times) {
	t.count += o.count
	t.most = max(t.most, o.most)
	for i, n := range o.classes {
		t.classes[i] += n
	}
}

// Count returns how many durations were added.
func (t *Times) Count() int64 { return t.count }

// Max returns the longest duration, 0 of none.
func (t *Times) Max() time.Duration { return t.most }

// Quantile returns the duration that a share q of all, 0 to 1, does not exceed. It is up
// to 3.1 % too long. Of no durations it is 0.
func (t *Times) Quantile(q float64) time.Duration {
	rank := int64(q * float64(t.count))
	for c, n := range t.classes {
		rank -= int64(n)
		if rank < 0 {
			return min(upper(c), t.most)
		}
	}
	return t.most
}
