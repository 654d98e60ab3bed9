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
)

// The embedded server is compared with a real one call by call: both are taken
// through the same random sequences of steps, mostly one request each, and what
// comes back is compared frame by frame. Every run draws new sequences. More of
// them, or one seed again, as a failure says:
//
//	go test ./zksync/zktest -run TestServerCompared -timeout 30m -compare.sequences=2000
//	go test ./zksync/zktest -run TestServerCompared -compare.seed=123 -compare.steps=3,7,8
//
// 2,000 take some two minutes.
var (
	compareN     = flag.Int("compare.sequences", 0, "number of sequences to compare the servers by; 0: as many as a few seconds allow")
	compareSeed  = flag.Uint64("compare.seed", 0, "compare the servers by the sequence of this seed only; 0: new ones")
	compareSteps = flag.String("compare.steps", "", "with -compare.seed: take only these steps, as \"3,7,8\"")
)

// How many sequences are compared when nobody says, fewer where they take longer
// than the budget, and how many steps each has.
const (
	compareMost   = 100
	compareLeast  = 20
	compareBudget = 4 * time.Second
	compareLength = 50
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

// run compares two servers by as many sequences as the flags say, or most.
func (d compareDials) run(t *testing.T, most int) {
	t.Helper()
	var only []int
	if *compareSteps != "" {
		for field := range strings.SplitSeq(*compareSteps, ",") {
			i, err := strconv.Atoi(field)
			must(t, err)
			only = append(only, i)
		}
	}
	enough := func(done int, spent time.Duration) bool {
		switch {
		case *compareSeed != 0 && *compareN == 0:
			return done >= 1
		case *compareN > 0:
			return done >= *compareN
		}
		return done >= most || done >= min(most, compareLeast) && spent > compareBudget
	}
	started, done := time.Now(), 0
	for failures := 0; failures < 3 && !enough(done, time.Since(started)); done++ {
		seed := *compareSeed
		if seed == 0 {
			seed = rand.Uint64()>>1 + 1
		}
		c, err := d.compare(seed, only)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if c.differs() {
			failures++
			t.Error(d.report(d.shrink(c), t.Name()))
		}
	}
	t.Logf("%d sequences of %d steps in %v", done, compareLength, time.Since(started).Round(time.Millisecond))
}
