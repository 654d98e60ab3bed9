package costs_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// turns is the order in which goroutines of several sessions had a lock.
type turns struct {
	mu     sync.Mutex
	total  int // grants so far; guarded by mu
	of     []int64
	last   []int     // the grant at which a session had the lock last, from 1; guarded by mu
	called []float64 // how many grants came between a call and its own; guarded by mu
	turned []float64 // how many came between two turns of a session; guarded by mu
}

// now returns the number of grants so far.
func (r *turns) now() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// granted records a grant to a session, for a call that was made at a number of grants.
func (r *turns) granted(session, call int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	r.of[session]++
	r.called = append(r.called, float64(r.total-call))
	if was := r.last[session]; was > 0 && was != r.total-1 {
		r.turned = append(r.turned, float64(r.total-was))
	}
	r.last[session] = r.total
}

// Sessions that compete get the same, with the default budget of hand-overs, and none
// waits much longer than the others. Waits are counted in grants: a machine that stands
// still for a while is not unfair. The waits of single calls are not judged: a goroutine
// may stand still before it calls Lock.
func TestSessionsShareFairly(t *testing.T) {
	const sessions, goroutines = 4, 16
	grants := suite.LongOr(20_000, 3_000)
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		p := z.UsedPath(t, z.Dial(t))
		r := &turns{of: make([]int64, sessions), last: make([]int, sessions)}
		first := zksync.NewMutex(z.Dial(t), p)
		first.Lock()
		var wg sync.WaitGroup
		for i := range sessions {
			s := z.Dial(t)
			m := zksync.NewMutex(s, p)
			for range goroutines {
				wg.Go(func() {
					for call := r.now(); call < grants; call = r.now() {
						m.Lock()
						r.granted(i, call)
						m.Unlock()
					}
				})
			}
			suite.Eventually(t, "all wait", func() bool { return s.Stats().Waiting == goroutines })
		}
		first.Unlock()
		wg.Wait()

		jain := measure.Jain(r.of)
		t.Logf("grants of the sessions %v, Jain's index %.4f", r.of, jain)
		if jain < 0.99 {
			t.Errorf("Jain's index %.4f, want at least 0.99", jain)
		}
		median, worst := measure.Median(r.turned), slices.Max(r.turned)
		t.Logf("a session waits for %.0f grants in the median, %.0f at worst; a call for %.0f and %.0f",
			median, worst, measure.Median(r.called), slices.Max(r.called))
		if worst > 4*median {
			t.Errorf("a session waited for %.0f grants, and the median is %.0f", worst, median)
		}
	})
}
