package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/measure"
)

// A round may be so short that one session has all turns: how even that was is reported,
// and how long a turn took is not.
func TestOneSessionHadAllTurns(t *testing.T) {
	x := &measure.Result{Kind: measure.Ours, Rounds: []*measure.Round{{
		Took: time.Second, Cycles: 16, Sessions: []int64{16, 0},
		Waits: []*measure.Times{new(measure.Times)}, Passes: new(measure.Times), Turns: new(measure.Times),
	}}}
	r := new(Report)
	r.add(measure.Workload{Name: "sessions", Sessions: 2, Goroutines: 1}, []*measure.Result{x})
	f := r.Workloads[0].Locks[0].Fairness
	if f == nil || f.Jain != 0.5 || f.Worst != 0 {
		t.Errorf("fairness %+v, want 0.5 without a worst turn", f)
	}
	var out strings.Builder
	if err := r.WriteJSON(&out); err != nil || strings.Contains(out.String(), "worst_to_median") {
		t.Errorf("%v: %s", err, out.String())
	}
}
