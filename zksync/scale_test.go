package zksync_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// far opens a session whose round trips to the server take 10 ms.
func far(t *testing.T, z *suite.Ground) *zksync.Session {
	member := z.Server.AddMember()
	member.Delay(5 * time.Millisecond)
	return z.Via(t, member.Dial)
}

// Permits that are free are granted together, however far the servers are: no create
// waits for the answer to the one before.
func TestManyFreePermitsFarAway(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		const permits = 300
		s := far(t, z)
		sem := zksync.NewSemaphore(s, "/permits", permits)
		start := time.Now()
		var all sync.WaitGroup
		for range permits {
			all.Go(func() {
				if err := sem.Acquire(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		took := time.Since(start)
		t.Logf("%d permits in %v", permits, took)
		if took >= 100*time.Millisecond {
			t.Errorf("%d free permits took %v at 10 ms a round trip, want less than 100 ms", permits, took)
		}
		sem.Release(permits)
	})
}

// inUse is the memory that is in use, with that of stacks.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// Calls that wait for permits wait in this process, and few of them in ZooKeeper's
// line.
func TestManyCallsWaitForPermits(t *testing.T) {
	const calls, limit = 2_000, 20 << 20
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := far(t, z)
		sem := zksync.NewSemaphore(s, "/permits", 2)
		suite.Must(t, sem.Acquire(t.Context(), 2))
		before := inUse()
		var all sync.WaitGroup
		for range calls {
			all.Go(func() {
				if err := sem.Acquire(t.Context(), 1); err != nil {
					t.Error(err)
				}
				sem.Release(1)
			})
		}
		time.Sleep(time.Second)
		if got := s.Stats().Waiting; got != calls {
			t.Errorf("%d calls wait, want %d", got, calls)
		}
		used := int64(inUse() - before)
		t.Logf("%d calls that wait use %.1f MiB, and %d nodes", calls, float64(used)/(1<<20), len(srv.Children("/permits")))
		if used > limit && !race.Enabled {
			t.Errorf("%d calls that wait use %d bytes, want at most %d", calls, used, limit)
		}
		asked := s.Stats().Requests
		sem.Release(2)
		all.Wait()
		// Each passes its permit on.
		st := s.Stats()
		if asked = st.Requests - asked; st.Handoffs < calls-10 || asked > 100 {
			t.Errorf("%d calls had their permits handed over, with %d requests in all", st.Handoffs, asked)
		}
		t.Logf("%d hand-overs, %d requests", st.Handoffs, asked)
	})
}

// A semaphore in use for long does not remember the calls that have gone.
func TestPermitsKeepNothingOfThoseBefore(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		sem := zksync.NewSemaphore(far(t, z), "/permits", 2)
		if err := sem.Acquire(t.Context(), 1); err != nil { // the lock stays in use
			t.Fatal(err)
		}
		turn := func() {
			h, err := sem.Hold(t.Context(), 1) // a node of its own
			if err == nil {
				err = h.Release(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			turn()
		}
		before := inUse()
		for range 3_000 {
			turn()
		}
		if used := int64(inUse() - before); used > 3<<20 && !race.Enabled {
			t.Errorf("3,000 permits left %d bytes behind", used)
		}
		sem.Release(1)
	})
}

// behindWriter has n readers wait behind a writer of another session, and returns how
// long they took to get in line.
func behindWriter(t testing.TB, n int) time.Duration {
	srv := zktest.Run(t)
	dial := func() *zksync.Session {
		return suite.DialTo(t, []string{"10.0.0.1"}, zksync.WithDialContext(srv.DialContext))
	}
	w := zksync.NewRWMutex(dial(), "/rw")
	w.Lock()
	s := dial()
	rw := zksync.NewRWMutex(s, "/rw")
	var all sync.WaitGroup
	var granted atomic.Int64
	start := time.Now()
	for range n {
		all.Go(func() {
			rw.RLock()
			granted.Add(1)
		})
	}
	for s.Stats().Waiting < n {
		runtime.Gosched()
	}
	took := time.Since(start)
	w.Unlock()
	all.Wait()
	for range n {
		rw.RUnlock()
	}
	return took
}

// BenchmarkReadersBehindAWriter is how long readers take to get in line.
func BenchmarkReadersBehindAWriter(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(behindWriter(b, 32_000).Milliseconds()), "ms/32,000")
	}
}

// To get in line costs a reader the same however many are there. A busy machine may
// slow down one of the two crowds, so it is enough that one of several pairs shows it: if
// the cost grew with their number, the larger crowd would take 64 times as long.
func TestReadersGetInLineInLinearTime(t *testing.T) {
	for try := 1; ; try++ {
		few, many := behindWriter(t, 4_000), behindWriter(t, 32_000)
		t.Logf("4,000 readers get in line in %v, 32,000 in %v", few, many)
		if many < 32*few {
			return
		}
		if try == 6 {
			t.Fatal("32,000 readers take more than 32 times as long as 4,000, each time")
		}
	}
}
