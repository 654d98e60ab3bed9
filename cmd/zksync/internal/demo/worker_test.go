package demo

import (
	"context"
	"testing"
)

// A worker that sees the end of its hold's context has reported a loss, once, even if it
// is quicker than the function that the context calls.
func TestDemoWorkerTellsLoss(t *testing.T) {
	for range 2000 {
		held, lose := context.WithCancel(context.Background())
		var told []what
		end := watchEnd(held, func(how what) { told = append(told, how) })
		go lose()
		<-held.Done()
		if end(); len(told) != 1 || told[0] != lost {
			t.Fatalf("%q, want a loss", told)
		}
	}
	held, lose := context.WithCancel(context.Background())
	var told []what
	watchEnd(held, func(how what) { told = append(told, how) })()
	if lose(); len(told) != 1 || told[0] != released {
		t.Errorf("%q, want a release", told)
	}
}

// A loss is reported at once, not when the work ends.
func TestDemoWorkerTellsLossAtOnce(t *testing.T) {
	held, lose := context.WithCancel(context.Background())
	told := make(chan what, 2)
	end := watchEnd(held, func(how what) { told <- how })
	lose()
	if how := <-told; how != lost {
		t.Errorf("%q, want a loss", how)
	}
	if end(); len(told) > 0 {
		t.Errorf("%q as well", <-told)
	}
}
