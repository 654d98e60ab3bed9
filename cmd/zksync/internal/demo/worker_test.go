package demo

import (
	"context"
	"testing"
)

// A worker that sees the end of its hold's context reports a loss, even if it is
// quicker than the function that the context calls.
func TestDemoWorkerTellsLoss(t *testing.T) {
	for range 2000 {
		held, lose := context.WithCancel(context.Background())
		ending := watchEnd(held)
		before := clock()
		go lose()
		<-held.Done()
		if end := ending(); end.What != saysLost || end.At < before || end.At > clock() {
			t.Fatalf("%+v, not between %d and %d", end, before, clock())
		}
	}
	held, lose := context.WithCancel(context.Background())
	defer lose()
	if end := watchEnd(held)(); end.What != saysRelease {
		t.Errorf("%+v, want a release", end)
	}
}
