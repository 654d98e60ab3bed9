//go:build zksyncdefects

package sim

import (
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/defect"
)

// most is how many programs may pass before a defect is found.
const most = 2000

// Each of these mistakes is found. Some are made up for by another part of the
// library, and show only where that is missing too.
func TestDefectsAreFound(t *testing.T) {
	for _, ds := range [][]defect.Defect{
		{defect.NoSync, defect.NoSweep},
		{defect.NoLookup, defect.NoSweep},
		{defect.StringOrder},
		{defect.GrantOnTie},
		{defect.OwnMissing},
		{defect.LaterLoss},
		{defect.ClockOfReads},
		{defect.KeptWatches},
		{defect.ZeroReadGrant},
		{defect.ForgottenDelete},
		{defect.DeleteOnce},
		{defect.NoUndo},
		{defect.NoPassOn},
		{defect.FreedLoss},
		{defect.SharedHold},
		{defect.SequenceFence},
		{defect.SilentLoss},
	} {
		name := ""
		for _, d := range ds {
			if name != "" {
				name += "+"
			}
			name += d.String()
		}
		t.Run(name, func(t *testing.T) {
			defect.Set(ds...)
			defer defect.Set()
			start := time.Now()
			for seed := *simFirst; seed < *simFirst+most; seed++ {
				if w := simulate(t, seed); len(w.bad) > 0 {
					t.Logf("found by program %d, in %v: %s", seed-*simFirst+1, time.Since(start).Round(time.Millisecond), w.bad[0])
					return
				}
			}
			t.Errorf("not found by %d programs", most)
		})
	}
}
