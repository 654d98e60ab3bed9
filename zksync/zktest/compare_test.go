package zktest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The embedded server is compared with a real one call by call: both are taken
// through the same random sequences of steps, mostly one request each, and what
// comes back is compared frame by frame. Every run draws new sequences. More of
// them, or one seed again, as a failure says:
//
//	go test ./zksync/zktest -run TestServerCompared -timeout 60m -compare.sequences=20000
//	go test ./zksync/zktest -run TestServerCompared -compare.seed=123 -compare.steps=3,7,8
//
// 2,000 take some two minutes. The long form plays up to 20,000, in five minutes at
// most.
var (
	compareN     = flag.Int("compare.sequences", 0, "number of sequences to compare the servers by; 0: as many as a few seconds allow")
	compareSeed  = flag.Uint64("compare.seed", 0, "compare the servers by the sequence of this seed only; 0: new ones")
	compareSteps = flag.String("compare.steps", "", "with -compare.seed: take only these steps, as \"3,7,8\"")
)

// How many sequences are compared when nobody says, fewer where they take longer
// than the budget.
var (
	compareMost   = suite.LongOr(20_000, 100)
	compareBudget = suite.LongOr(5*time.Minute, 4*time.Second)
)

// How many are compared at least, and how many steps each has.
const (
	compareLeast  = 20
	compareLength = 50
	compareBatch  = 1000 // sequences for the same servers
)

// compareDials is how to reach the two servers, and their names.
type compareDials struct {
	nameA, nameB string
	a, b         func() (net.Conn, error)
	since39      bool // one of them is ZooKeeper 3.9 or later
}

var compareRoots atomic.Int64

// compared is one sequence on two servers.
type compared struct {
	seed  uint64
	steps []int    // of the sequence
	text  []string // what each step is
	a, b  []string // what came of each, up to the first difference
	again int      // how often the difference showed in compareAgain more runs
}

// compareAgain is how often a sequence with a difference is played again. One that
// comes every time is a bug of a server, another one may be the comparison's.
const compareAgain = 4

func (c *compared) differs() bool {
	n := len(c.a)
	return n > 0 && !alike(c.a[n-1], c.b[n-1])
}

// compare takes both servers through the steps of a seed's sequence that are
// named, or all, and stops after the first one that has another outcome.
func (d compareDials) compare(seed uint64, only []int) (*compared, error) {
	root := fmt.Sprintf("/cmp%d", compareRoots.Add(1))
	a, err := newPlayer(d.a, root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.nameA, err)
	}
	b, err := newPlayer(d.b, root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.nameB, err)
	}
	result := &compared{seed: seed}
	steps := randomSteps(seed, root, compareLength)
	if d.since39 {
		asSince39(steps)
	}
	for i, s := range steps {
		if only != nil && !slices.Contains(only, i) {
			continue
		}
		other := make(chan string, 1)
		go func() { other <- b.play(s) }()
		seen := a.play(s)
		result.steps = append(result.steps, i)
		result.text = append(result.text, s.String())
		result.a, result.b = append(result.a, seen), append(result.b, <-other)
		if result.differs() {
			break
		}
	}
	errA, errB := a.close(), b.close()
	switch {
	case result.differs(): // and the rest may differ too
	case errA != nil:
		return nil, fmt.Errorf("%s: %w", d.nameA, errA)
	case errB != nil:
		return nil, fmt.Errorf("%s: %w", d.nameB, errB)
	}
	return result, nil
}

// shrink leaves out whatever step the last difference does not need.
func (d compareDials) shrink(c *compared) *compared {
	shows := func(only []int) (*compared, bool) {
		smaller, err := d.compare(c.seed, only)
		return smaller, err == nil && smaller.differs()
	}
	again := 0
	for range compareAgain {
		if _, ok := shows(c.steps); ok {
			again++
		}
	}
	for size := max(1, len(c.steps)/2); size > 0 && again > 0; size /= 2 {
		for at := 0; at < len(c.steps)-1; {
			rest := slices.Delete(slices.Clone(c.steps), at, min(at+size, len(c.steps)-1))
			if smaller, ok := shows(rest); ok {
				c = smaller
			} else {
				at += size
			}
		}
	}
	c.again = again
	return c
}

// report is what differs, and how to see it again with test.
func (d compareDials) report(c *compared, test string) string {
	var out strings.Builder
	list := make([]string, len(c.steps))
	for i, n := range c.steps {
		list[i] = strconv.Itoa(n)
	}
	fmt.Fprintf(&out, "%s and %s differ, and did so again in %d of %d more runs. Once more:\n", d.nameA, d.nameB, c.again, compareAgain)
	fmt.Fprintf(&out, "go test ./zksync/zktest -run '^%s$' -compare.seed=%d -compare.steps=%s\n", test, c.seed, strings.Join(list, ","))
	last := len(c.steps) - 1
	for i := range last {
		fmt.Fprintf(&out, "  %s\n%s", c.text[i], c.a[i])
	}
	fmt.Fprintf(&out, "  %s\n  %s:\n%s  %s:\n%s", c.text[last], d.nameA, c.a[last], d.nameB, c.b[last])
	return out.String()
}

// compareRun compares by as many sequences as the flags say, or most.
type compareRun struct {
	most     int
	only     []int // steps; nil: all
	started  time.Time
	done     int
	failures int
	stalls   int
}

// A sequence that takes longer than compareStall is a hundred times slower than others.
// The machine stood still, so that sessions expired or a real server left its quorum; or
// a real server before 3.8.1 left a request lying in spite of keepAwake. If such a
// sequence fails, and no more runs of it do, it is not counted, and new servers take the
// place of those. There may be compareStalls of them. The second server, which is in this
// process, has no such excuse for no answer.
const (
	compareStall  = 10 * time.Second
	compareStalls = 20
)

// compareAll compares two servers, with new ones for each batch: the nodes that
// sequences leave behind make servers slower.
func compareAll(t *testing.T, most int, servers func(t *testing.T) compareDials) {
	t.Helper()
	run := compareRun{most: most}
	if *compareSteps != "" {
		for field := range strings.SplitSeq(*compareSteps, ",") {
			i, err := strconv.Atoi(field)
			must(t, err)
			run.only = append(run.only, i)
		}
	}
	// Where a server is missing, the first batch is skipped and there is no other.
	for batch, ok := 0, true; ok && (batch == 0 || !run.started.IsZero() && !run.over()); batch++ {
		ok = t.Run(fmt.Sprint("servers", batch), func(t *testing.T) {
			d := servers(t)
			if batch == 0 {
				run.started = time.Now()
			}
			for end := run.done + compareBatch; run.done < end && !run.over(); run.done++ {
				if !run.one(t, d) {
					return
				}
			}
		})
	}
	if !run.started.IsZero() {
		t.Logf("%d sequences of %d steps in %v, %d others came to a standstill", run.done, compareLength,
			time.Since(run.started).Round(time.Millisecond), run.stalls)
	}
}

// over reports whether the comparison has enough sequences, or failures.
func (run *compareRun) over() bool {
	switch {
	case run.failures >= 3:
		return true
	case *compareSeed != 0 && *compareN == 0:
		return run.done >= 1
	case *compareN > 0:
		return run.done >= *compareN
	}
	return run.done >= run.most || run.done >= min(run.most, compareLeast) && time.Since(run.started) > compareBudget
}

// one plays one sequence. It reports false if it came to a standstill.
func (run *compareRun) one(t *testing.T, d compareDials) bool {
	t.Helper()
	seed := *compareSeed
	if seed == 0 {
		seed = rand.Uint64()>>1 + 1
	}
	started := time.Now()
	c, err := d.compare(seed, run.only)
	stalled := time.Since(started) > compareStall && run.stalls < compareStalls
	if err != nil {
		if stalled && !strings.HasPrefix(err.Error(), d.nameB) {
			return run.stall(t, seed, err.Error())
		}
		t.Fatalf("seed %d: %v", seed, err)
	}
	if !c.differs() {
		return true
	}
	c = d.shrink(c)
	test, _, _ := strings.Cut(t.Name(), "/")
	text := d.report(c, test)
	if stalled && c.again == 0 && !strings.Contains(c.b[len(c.b)-1], noAnswer) {
		return run.stall(t, seed, text)
	}
	run.failures++
	t.Error(text)
	return true
}

// stall notes what came of a sequence that came to a standstill.
func (run *compareRun) stall(t *testing.T, seed uint64, text string) bool {
	t.Helper()
	run.stalls++
	t.Logf("a standstill; not counted: seed %d: %s", seed, text)
	return false
}
