package costs_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// metered opens a session whose traffic is counted, and that sends the same on every
// machine: its nodes have no data.
func metered(t *testing.T, z *suite.Ground, m *measure.Meter, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	return z.Dial(t, append([]zksync.DialOption{suite.WithDialer(m.Dial), zksync.WithSessionTimeout(time.Minute),
		zksync.WithoutNodeInfo()}, opts...)...)
}

// The requests for a contended lock do not depend on how many wait before the session.
// What depends on it are the bytes of the list.
func TestGrowthOfALine(t *testing.T) {
	var lines []string
	var costs []measure.Counts
	sizes := []int{1, 10, 100, 1000}
	for _, n := range sizes {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			m := &measure.Meter{Dialer: z.Server.DialContext}
			c := behind(t, z, m, n)
			costs = append(costs, c)
			lines = append(lines, fmt.Sprintf("| %d | **%d** | %d | %d |", n, c.Requests, c.Events, c.Received))
		})
	}
	for i, c := range costs[1:] {
		// After the end of a sole predecessor the event alone proves that it is our turn, but
		// then our own node is watched, too, and there is the event of its deletion.
		if c.Requests != 5 || c.Events != 1 || costs[0].Requests != 5 || costs[0].Events != 2 {
			t.Errorf("%d before us: %+v, one: %+v", sizes[i+1], c, costs[0])
		}
	}
	// A name has 56 bytes here, and 4 for its length. The line is listed once: when it is
	// listed again, nobody is before us.
	const name = 60
	if got, want := costs[3].Received-costs[2].Received, int64(900*name); got > want {
		t.Errorf("900 more nodes before us make the answers %d bytes larger, want at most %d", got, want)
	}
	part(t, "line", "| nodes before ours | requests | events | bytes received |\n|---|---|---|---|\n"+strings.Join(lines, "\n")+"\n")
}

// behind returns what it costs a session to take and release a lock behind n others, who
// leave one after the other.
func behind(t *testing.T, z *suite.Ground, m *measure.Meter, n int) measure.Counts {
	t.Helper()
	s := metered(t, z, m)
	p := z.UsedPath(t, s)
	raw := z.Raw(t)
	var before []string
	for i := range n {
		name := fmt.Sprintf("%s/_c_%08x-0000-4000-8000-000000000000-lock-", p, i)
		before = append(before, suite.Plant(t, raw, name, "", zk.FlagEphemeral|zk.FlagSequence))
	}
	start := m.Count()
	mu, held := zksync.NewMutex(s, p), make(chan error)
	go func() { held <- mu.LockContext(suite.Context(t)) }()
	synctest.Wait()
	for _, node := range before {
		suite.Must(t, raw.Delete(node, -1))
	}
	suite.Must(t, <-held)
	synctest.Wait()
	suite.Must(t, mu.UnlockContext(suite.Context(t)))
	synctest.Wait()
	return m.Count().Minus(start)
}

// The requests for a free lock do not depend on how many other locks the session has
// used, or holds. A session watches 1,024 paths at most: a use of any other one has a list
// more.
func TestGrowthOfASession(t *testing.T) {
	var lines []string
	var first, again, beside []float64
	sizes := []int{1, 10, 100, 1000}
	if suite.IsLong() && !race.Enabled {
		sizes = append(sizes, 10_000)
	}
	for _, n := range sizes {
		f, a, b := usesOf(t, n)
		first, again, beside = append(first, f), append(again, a), append(beside, b)
	}
	for i, n := range sizes {
		if n <= 1000 { // the page is the same in both forms of the tests
			lines = append(lines, fmt.Sprintf("| %d | **%.1f** | **%.1f** |", n, first[i], again[i]))
		}
		unwatched := 0.0
		if n > 1024 {
			unwatched = 1.01 // and now and then a watch is set again
		}
		if first[i] != first[0] || again[i] > again[0]+unwatched || beside[i] > beside[0]+3*unwatched {
			t.Errorf("%d locks: %v requests each for the first use, %v for a later one, %v for three uses of another lock while all are held; one lock: %v, %v, %v",
				n, first[i], again[i], beside[i], first[0], again[0], beside[0])
		}
	}
	part(t, "locks", "| locks of one session | requests, first use | requests, later use |\n|---|---|---|\n"+strings.Join(lines, "\n")+"\n")
}

// usesOf returns the requests of one session for each of n locks: for the first use, and
// for a later one. beside are those for three uses of another lock while it holds all of
// them.
func usesOf(t *testing.T, n int) (first, again, beside float64) {
	t.Helper()
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		m := &measure.Meter{Dialer: z.Server.DialContext}
		s := metered(t, z, m)
		root := z.UsedPath(t, s)
		count := func(f func()) float64 {
			start := m.Count()
			f()
			synctest.Wait()
			return float64(m.Count().Minus(start).Requests)
		}
		all := func(f func(mu *zksync.Mutex)) float64 {
			return count(func() {
				for i := range n {
					f(zksync.NewMutex(s, fmt.Sprintf("%s/%05d", root, i)))
				}
			}) / float64(n)
		}
		cycle := func(mu *zksync.Mutex) { mu.Lock(); mu.Unlock() }
		first = all(cycle)
		all(cycle) // the second use may prepare the following ones
		again = all(cycle)
		all((*zksync.Mutex).Lock)
		beside = count(func() {
			for range 3 {
				cycle(zksync.NewMutex(s, root+"/other"))
			}
		})
		all((*zksync.Mutex).Unlock)
	})
	return first, again, beside
}

// part compares a table of docs/cost.md with what was measured, or writes it.
func part(t *testing.T, name, text string) {
	t.Helper()
	if t.Failed() {
		return
	}
	if *update {
		suite.SetPagePart(t, costPage, name, text)
		return
	}
	if shown := suite.PagePart(t, costPage, name); shown != text {
		t.Errorf("%s shows\n%sbut measured is\n%swrite it: go test ./zksync/internal/suite/costs -run '%s' -update", costPage, shown, text, t.Name())
	}
}

// A lock that was used and dropped takes no memory, and a held one takes little. The
// server is another process, so that its nodes do not count.
func TestGrowthOfMemory(t *testing.T) {
	suite.Long(t)
	suite.NeedReal(t, suite.StartReal())
	z := suite.Real(t)
	const locks = 10_000
	s := z.Dial(t, zksync.WithSessionTimeout(40*time.Second)) // a machine that is busy loses none
	root := z.UsedPath(t, s)
	path := func(i int) string { return fmt.Sprintf("%s/%05d", root, i) }
	all := func(f func(i int)) {
		var wg sync.WaitGroup
		for w := range 32 {
			wg.Go(func() {
				for i := w; i < locks; i += 32 {
					f(i)
				}
			})
		}
		wg.Wait()
	}
	lock := func(i int) { zksync.NewMutex(s, path(i)).Lock() }
	unlock := func(i int) { zksync.NewMutex(s, path(i)).Unlock() }
	for i := range 32 { // the buffers have their size
		lock(i)
		unlock(i)
	}
	before := heap()
	all(func(i int) { lock(i); unlock(i) })
	suite.AtRest(t, s)
	idle := heap() - before
	all(lock)
	held := heap() - before - idle
	all(unlock)
	suite.AtRest(t, s)
	holds := make([]*zksync.Hold, locks)
	before = heap()
	all(func(i int) {
		var err error
		if holds[i], err = zksync.NewMutex(s, path(i)).Hold(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		return
	}
	byHold := heap() - before
	all(func(i int) {
		if err := holds[i].Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
	suite.AtRest(t, s)
	t.Logf("%d locks: %d bytes each when used and dropped, %d bytes each while held, %d by a Hold", locks, idle/locks, held/locks, byHold/locks)
	if race.Enabled {
		return
	}
	if idle > locks*100 {
		t.Errorf("%d locks that nobody uses take %d bytes", locks, idle)
	}
	if held > locks*mostHeld {
		t.Errorf("a held lock takes %d bytes, want at most %d", held/locks, mostHeld)
	}
	if byHold > locks*mostByHold {
		t.Errorf("a lock held by a Hold takes %d bytes, want at most %d", byHold/locks, mostByHold)
	}
}

// mostHeld is how many bytes a held lock may take, and mostByHold one that a Hold holds,
// whose node is watched.
const (
	mostHeld   = 2000
	mostByHold = 4800
)

// heap returns the bytes in use after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools had
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Ten thousand holds of one session live on a slow network. Each T/6 the proof of life
// is one request for a thousand of them, as large as a request may be.
func TestTenThousandHolds(t *testing.T) {
	suite.Long(t)
	holds := 10_000
	if race.Enabled {
		holds = 1_000
	}
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		z.Server.Delay(20 * time.Millisecond) // in each direction
		m := &measure.Meter{Dialer: z.Server.DialContext}
		s := metered(t, z, m, zksync.WithSessionTimeout(6*time.Second))
		root := z.UsedPath(t, s)
		held := make([]*zksync.Hold, holds)
		var wg sync.WaitGroup
		for i := range held {
			wg.Go(func() {
				var err error
				if held[i], err = zksync.NewMutex(s, fmt.Sprintf("%s/%05d", root, i)).Hold(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Second) // the node of each hold has been read once
		before := m.Count()
		time.Sleep(time.Minute)
		sent := m.Count().Minus(before)
		t.Logf("%d holds: %.1f requests and %d bytes a second", holds, float64(sent.Requests)/60, sent.Sent/60)
		size := int64(0)
		for _, h := range held {
			if h == nil || h.Err() != nil {
				t.Fatal("a hold was lost")
			}
			size += int64(len(h.Node())) + 17 // of a check in a transaction
		}
		if most := 60 * (1 + size/(128<<10)); sent.Requests > most {
			t.Errorf("%d requests in a minute for %d holds, whose checks have %d bytes, want at most %d", sent.Requests, holds, size, most)
		}
		for _, h := range held {
			wg.Go(func() {
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
