package costs_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// footing is what a process takes of the machine at a moment.
type footing struct {
	heap, stacks, rss int64
	goroutines        int
}

func stand() footing {
	var m runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&m)
	return footing{int64(m.HeapAlloc), int64(m.StackInuse), residentSize(), runtime.NumGoroutine()}
}

// residentSize is this process's share of the machine's memory, 0 where the
// system does not report it.
func residentSize() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// each runs f for each session, a few at a time.
func each(sessions []*zksync.Session, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 16 {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range sessions {
		next <- i
	}
	close(next)
	wg.Wait()
}

// A thousand sessions of one process in one queue: each takes its
// room in memory, each release wakes one of them, and they come in the order of
// their nodes.
func TestManySessionsInOneQueue(t *testing.T) {
	n := suite.LongOr(1000, 200)
	if race.Enabled {
		n = min(n, 300) // each lists the whole line, and the race detector looks at every byte
	}
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		begin := time.Now()
		p := z.Path(t)
		holder := z.Dial(t)
		m := zksync.NewMutex(holder, p)
		m.Lock()

		var mu sync.Mutex
		var granted []string // the nodes, in the order of the grants
		tracer := &zksync.Tracer{AcquireEnd: func(_ context.Context, _ zksync.AcquireInfo, r zksync.AcquireEndInfo) {
			mu.Lock()
			defer mu.Unlock()
			granted = append(granted, path.Base(r.Node))
		}}
		// The timeout is so long that a machine busy with a thousand dials
		// loses none.
		sessions := make([]*zksync.Session, n)
		before := stand()
		each(sessions, func(i int) {
			var err error
			sessions[i], err = zksync.Dial(suite.Context(t), z.Servers, zksync.WithSessionTimeout(time.Minute), zksync.WithTracer(tracer))
			if err != nil {
				t.Error(err)
			}
		})
		if t.Failed() {
			t.FailNow()
		}
		defer each(sessions, func(i int) {
			if err := sessions[i].Close(); err != nil {
				t.Error(err)
			}
		})
		dialled := time.Since(begin)
		idle := stand()

		// Each lets the next one go on when the test says so.
		turn, held := make(chan struct{}), make(chan int)
		var wg sync.WaitGroup
		for i, s := range sessions {
			wg.Go(func() {
				m := zksync.NewMutex(s, p)
				if err := m.LockContext(context.Background()); err != nil {
					t.Error(err)
				}
				held <- i
				<-turn
				if err := m.UnlockContext(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		suite.Eventually(t, "all are in line, and wait", func() bool {
			// A create, a listing, and a watch on the one before and on itself.
			for _, s := range sessions {
				if s.Stats().Requests < 4 {
					return false
				}
			}
			return true
		})
		inLine := time.Since(begin) - dialled
		waiting := stand()
		report := func(what string, a, b footing) {
			per := func(x, y int64) int64 { return (y - x) / int64(n) >> 10 }
			t.Logf("%s, a session: heap %d KiB, stacks %d KiB, resident %d KiB, %.1f goroutines", what,
				per(a.heap, b.heap), per(a.stacks, b.stacks), per(a.rss, b.rss), float64(b.goroutines-a.goroutines)/float64(n))
		}
		report("idle", before, idle)
		report("waiting (with the goroutine that waits)", before, waiting)

		requests := func() (all []int64) {
			for _, s := range sessions {
				all = append(all, s.Stats().Requests)
			}
			return all
		}
		start := requests()
		drain := time.Now()
		was, last := start, -1
		m.Unlock()
		for k := range n {
			i := <-held
			if k < 50 || k > n-50 {
				// Nobody but the one that held and the one that holds has made
				// a request. (The next in line proves from time to time that
				// its session lives; with this timeout, every ten seconds.)
				now := requests()
				for j := range sessions {
					if d := now[j] - was[j]; j != i && j != last && d > 0 {
						t.Errorf("release %d: session %d made %d requests", k, j, d)
					} else if d > 3 {
						t.Errorf("release %d: %d requests for the turn", k, d)
					}
				}
				was = now
			} else if k == n-50 {
				was = requests()
			}
			last = i
			turn <- struct{}{}
		}
		wg.Wait()
		took := time.Since(drain)
		var sum int64
		for j, r := range requests() {
			sum += r - start[j]
		}
		if sum > 3*int64(n)+10 {
			t.Errorf("%d requests to drain a queue of %d, want a listing and a delete each", sum, n)
		}
		if !slices.IsSortedFunc(granted, func(a, b string) int { return sequence(a) - sequence(b) }) || len(granted) != n {
			t.Errorf("not in the order of the nodes: %s", strings.Join(granted, " "))
		}
		t.Logf("%d sessions dialled in %v, in line after %v, drained in %v with %d requests", n,
			dialled.Round(time.Millisecond), inLine.Round(time.Millisecond), took.Round(time.Millisecond), sum)
		z.Empty(t, p)
	})
}
