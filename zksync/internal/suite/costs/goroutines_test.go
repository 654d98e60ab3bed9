package costs_test

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// crowd is how many goroutines want one lock.
const crowd = 1000

// footprint is what the heap and the stacks take, after a collection.
func footprint() int64 {
	var m runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// lockings are the ways to wait for a lock, called without an interface: each frame
// is a part of the stack that is measured.
var lockings = map[string]func(ctx context.Context, m *zksync.Mutex) error{
	"Lock": func(_ context.Context, m *zksync.Mutex) error {
		m.Lock()
		m.Unlock()
		return nil
	},
	"LockContext": func(ctx context.Context, m *zksync.Mutex) error {
		if err := m.LockContext(ctx); err != nil {
			return err
		}
		return m.UnlockContext(ctx)
	},
	"Hold": func(ctx context.Context, m *zksync.Mutex) error {
		h, err := m.Hold(ctx)
		if err != nil {
			return err
		}
		return h.Release(ctx)
	},
}

// A thousand goroutines that wait for a lock of their own session cost little.
// What they cost at the least counts: one that is preempted where its stack is
// deepest needs twice the stack for good, and the first crowd of the process
// pays for the runtime's own records of goroutines.
func TestACrowdOfGoroutinesCostsLittle(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		for way, lock := range lockings {
			t.Run(way, func(t *testing.T) {
				s := z.Dial(t)
				m := zksync.NewMutex(s, z.Path(t))
				least := int64(math.MaxInt64)
				for range 3 {
					least = min(least, costOfCrowd(t, s, m, lock))
				}
				if least > 4_000_000 && !race.Enabled {
					t.Errorf("%d waiting goroutines cost %d bytes, want less than 4 MB", crowd, least)
				}
			})
		}
	})
}

// costOfCrowd is what a crowd takes while it waits for m.
func costOfCrowd(t *testing.T, s *zksync.Session, m *zksync.Mutex, lock func(context.Context, *zksync.Mutex) error) int64 {
	m.Lock()
	before := footprint()
	ctx := suite.Context(t)
	var wg sync.WaitGroup
	for range crowd {
		wg.Go(func() {
			if err := lock(ctx, m); err != nil {
				t.Error(err)
			}
		})
	}
	suite.Eventually(t, "all wait", func() bool { return s.Stats().Waiting == crowd })
	cost := footprint() - before
	t.Logf("%d waiting goroutines cost %d KiB, %d bytes each", crowd, cost>>10, cost/crowd)
	m.Unlock()
	wg.Wait()
	return cost
}

// goroutineRuns is how often a goroutine of this process has been made to run, roughly:
// the scheduler counts one in eight.
func goroutineRuns() float64 {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	var n uint64
	for _, c := range sample[0].Value.Float64Histogram().Counts {
		n += c
	}
	return 8 * float64(n)
}

// Each release wakes one goroutine of those that wait, not all of them. The
// scheduler's own trace shows that; the library can't influence it.
func TestAReleaseWakesOneGoroutine(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		var granted []int // in order; guarded by the lock under test
		s := z.Dial(t)
		m := zksync.NewMutex(s, z.Path(t))
		m.Lock()
		var wg sync.WaitGroup
		for i := range crowd {
			wg.Go(func() {
				m.Lock()
				granted = append(granted, i)
				m.Unlock()
			})
			for s.Stats().Waiting <= i {
				runtime.Gosched()
			}
		}
		// The collector's own goroutines run by the thousand in a cycle: none
		// meanwhile.
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		runtime.GC()
		before, requests := goroutineRuns(), s.Stats().Requests
		m.Unlock()
		wg.Wait()
		each := (goroutineRuns() - before) / crowd
		t.Logf("%.1f runs of a goroutine a release; %d requests for %d releases", each, s.Stats().Requests-requests, crowd)
		// All of them for each release would be 500 on average.
		if each > 20 {
			t.Errorf("%.1f goroutines ran for each release, want one or a few", each)
		}
		if !slices.IsSorted(granted) || len(granted) != crowd {
			t.Errorf("not in the order of arrival: %v", granted)
		}
	})
}

// With any number of goroutines that want a lock, one node of their session waits for it,
// so that other sessions have their turn.
func TestACrowdOfGoroutinesStandsInLineOnce(t *testing.T) {
	const enough = 60 // turns of the other one
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		var theirs atomic.Int64
		var wg sync.WaitGroup
		for range crowd {
			wg.Go(func() {
				// The other one may be slow to stand in line again.
				for n := 0; n < 2 || n < 100 && theirs.Load() < enough; n++ {
					m.Lock()
					m.Unlock()
				}
			})
		}
		suite.Eventually(t, "all wait", func() bool { return s.Stats().Waiting == crowd })

		// Somebody else in the queue, so that our places there matter.
		stop, others := make(chan struct{}), z.Raw(t)
		other := make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					other <- nil
					return
				default:
				}
				l := zk.NewLock(others, p, zk.WorldACL(zk.PermAll))
				if err := l.Lock(); err != nil {
					other <- err
					return
				}
				theirs.Add(1)
				if err := l.Unlock(); err != nil {
					other <- err
					return
				}
			}
		}()
		looker := z.Raw(t)
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		suite.Eventually(t, "the other one waits", func() bool { return len(suite.Children(t, looker, p)) == 2 })
		m.Unlock()
		looks, most := 0, 0
		for over := false; !over; looks++ {
			select {
			case <-done:
				over = true
			default:
			}
			first, ours := true, 0
			for i, name := range inOrder(suite.Children(t, looker, p)) {
				if dashed := name[3+8] == '-'; dashed { // ours, not zk.Lock's
					ours++
					first = first && i > 0
				}
			}
			if !first { // the holder's
				ours--
			}
			most = max(most, ours)
		}
		close(stop)
		if err := <-other; err != nil {
			t.Fatal(err)
		}
		st := s.Stats()
		t.Logf("%d looks: at most %d of our nodes waited; %d locks of ours (%d handed over), %d of the other's, %d requests",
			looks, most, st.Acquired, st.Handoffs, theirs.Load(), st.Requests)
		if most > 1 {
			t.Errorf("%d nodes of one session waited at once", most)
		}
		if looks < 20 || theirs.Load() < enough {
			t.Errorf("only %d looks and %d locks of the other one's: that proves nothing", looks, theirs.Load())
		}
		z.Empty(t, p)
	})
}

// inOrder sorts lock nodes by their sequence.
func inOrder(names []string) []string {
	slices.SortFunc(names, func(a, b string) int { return sequence(a) - sequence(b) })
	return names
}

func sequence(name string) int {
	n := 0
	for _, c := range name[len(name)-10:] {
		n = 10*n + int(c-'0')
	}
	return n
}
