package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		x    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := Median(test.x); got != test.want {
			t.Errorf("median of %v: %v, want %v", test.x, got, test.want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, test := range []struct {
		shares []int64
		want   float64
	}{{nil, 1}, {[]int64{7, 7, 7}, 1}, {[]int64{9, 0, 0}, 1.0 / 3}, {[]int64{0, 0}, 1}} {
		if got := Jain(test.shares); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("index of %v: %v, want %v", test.shares, got, test.want)
		}
	}
}

func TestTimes(t *testing.T) {
	var all []time.Duration
	var halves [2]Times
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		d := time.Duration(r.ExpFloat64() * float64(time.Millisecond))
		all = append(all, d)
		halves[i%2].Add(d)
	}
	slices.Sort(all)
	times := halves[0]
	times.Merge(&halves[1])
	if times.Count() != 10_000 || times.Max() != all[len(all)-1] {
		t.Errorf("%d durations, the longest %v", times.Count(), times.Max())
	}
	for _, q := range []float64{0, 0.5, 0.99, 0.9999, 1} {
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		if got := times.Quantile(q); got < want || float64(got) > 1.032*float64(want)+1 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	for c := range 58 * parts { // beyond, a duration overflows
		if d := upper(c); class(d) != c || class(d+1) != c+1 {
			t.Fatalf("class %d ends with %d, which is in %d", c, d, class(d))
		}
	}
}
