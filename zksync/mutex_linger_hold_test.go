package zksync_test

import (
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A Hold has a node of its own. The node that lingers is deleted before that one is made,
// so that the new one does not stand in line behind it.
func TestHoldAfterALockThatLingers(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		s := z.Counted(t)
		m := zksync.NewMutex(s.Session, p, zksync.WithLinger(time.Minute))
		const cycles = 50
		sum := 0
		for range cycles {
			suite.LockAndUnlock(t, m)
			s.Take(t)
			h, err := m.Hold(ctx)
			suite.Must(t, err)
			suite.Must(t, h.Release(ctx))
			sum += s.Take(t).Sum()
		}
		if sum > 5*cycles { // the deletion of one node, and a node made and deleted
			t.Errorf("%d requests for %d times Hold and Release", sum, cycles)
		}
	}, suite.Smoke)
}
