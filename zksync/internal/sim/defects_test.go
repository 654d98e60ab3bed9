//go:build zksyncdefects

package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/defect"
)

// most is how many programs may pass before a defect is found.
const most = 2000

// Each of these mistakes is found, within the same programs. Some need more than
// themselves to show: with is that. It is not what is found: each program that
// fails has to pass with it alone.
func TestDefectsAreFound(t *testing.T) {
	type list = []defect.Defect
	for _, tc := range []struct {
		is   defect.Defect
		with list
	}{
		// The node that was not seen, or not looked for, is deleted as soon as a
		// listing shows it, being of this process and nobody's.
		{is: defect.NoSync, with: list{defect.NoSweep}},
		{is: defect.NoLookup, with: list{defect.NoSweep}},
		{is: defect.NoOwnerCheck},
		{is: defect.StringOrder},
		{is: defect.GrantOnTie},
		{is: defect.OwnMissing},
		{is: defect.LaterLoss},
		{is: defect.ClockOfReads},
		{is: defect.ClockOfPings},
		{is: defect.KeptWatches},
		// As long as watches end with their connection, no event of a later one
		// can pass for a turn.
		{is: defect.ZeroReadGrant, with: list{defect.LongWatches}},
		{is: defect.ForgottenDelete},
		{is: defect.DeleteOnce},
		{is: defect.NoUndo},
		{is: defect.NoPassOn},
		{is: defect.FreedLoss},
		{is: defect.BlindHandoff},
		{is: defect.SharedHold},
		{is: defect.BlindReentry},
		{is: defect.SequenceFence},
		{is: defect.DoneAcquires},
		{is: defect.SilentLoss},
		{is: defect.LaterWriter},
		{is: defect.OneHolder},
		{is: defect.TouchLost},
		{is: defect.TouchOnce},
		{is: defect.ShrinkGap},
		{is: defect.DowngradeGap},
		{is: defect.WriteTurn},
		{is: defect.OneByOne},
		{is: defect.JoinedLocal},
		{is: defect.FirstPart},
		{is: defect.UnprovenParts},
		// As with NoLookup.
		{is: defect.ForgottenParts, with: list{defect.NoSweep}},
		{is: defect.ReadFence},
		{is: defect.OthersDebt},
	} {
		name := tc.is.String()
		for _, d := range tc.with {
			name += "+" + d.String()
		}
		t.Run(name, func(t *testing.T) {
			defer defect.Set()
			start := time.Now()
			for n := range uint64(most) {
				p := newPlan(*simFirst+n, *simFull)
				defect.Set(append(tc.with, tc.is)...)
				w := simulate(t, p)
				if len(w.bad) == 0 {
					continue
				}
				// It is the mistake that is found, not what goes with it.
				defect.Set(tc.with...)
				if o := simulate(t, p); len(o.bad) > 0 {
					t.Logf("program %d fails without it: %s", n+1, o.bad[0])
					continue
				}
				what, _, _ := strings.Cut(w.bad[0], "\n")
				t.Logf("found by program %d, %q, in %v: %s", n+1, p.story, time.Since(start).Round(time.Millisecond), what)
				return
			}
			t.Errorf("not found by %d programs, in %v", most, time.Since(start).Round(time.Millisecond))
		})
	}
}
