package demo

import (
	"testing"
	"time"
)

func TestDemoLogIsInOrder(t *testing.T) {
	line := newTimeline(1, time.Second)
	for _, at := range []int64{5, 3, 8, 4} {
		line.record(event{at: at})
	}
	line.next(5) // now it is too late for what comes before
	line.record(event{at: 1})
	var got []int64
	for _, e := range line.log {
		got = append(got, e.at)
	}
	want := []int64{3, 4, 5, 1, 8}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
