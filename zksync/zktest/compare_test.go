// Run with -tags zkcompare: it needs a quiet machine with real ZooKeeper, and
// for the neighbours python3-kazoo and libcurator-recipes-java.

//go:build zkcompare

package zktest_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// How many sequences are compared when nobody says, and how many requests or
// other steps each has: at least so many sequences, and more while there is time.
const (
	compareLeast  = 100
	compareBudget = 3 * time.Second
	compareLength = 50
)

var (
	compareN     = flag.Int("compare.n", envInt("ZKSYNC_COMPARE_N"), "number of sequences to compare the servers by; 0: a few seconds' worth")
	compareSeed  = flag.Uint64("compare.seed", 0, "compare the servers by the sequence of this seed only; 0: new ones")
	compareSteps = flag.String("compare.steps", "", "with -compare.seed: take only these steps, as \"3,7,8\"")
)

func envInt(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// compareReal starts the real server to compare with. Nothing but the sequences
// may make a transaction on it.
func compareReal(t *testing.T) func() (net.Conn, error) {
	t.Helper()
	e := zktest.RealEnsemble(t, 1, zktest.WithContainerCheck(24*time.Hour))
	return dialTCP(e.Server(0))
}

func dialTCP(addr string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", addr, answerTimeout) }
}

var compareRoots atomic.Int64

// compared is one sequence on two servers.
type compared struct {
	steps []int    // of the sequence
	text  []string // what each step is
	a, b  []string // what came of each, up to the first difference
}

func (c *compared) differs() bool {
	n := len(c.a)
	return n > 0 && !alike(c.a[n-1], c.b[n-1])
}

// errStalled says that the first server has left a request without an answer,
// which proves nothing about the second. A real server of an ensemble does so once
// in many thousand steps, and its session then ends at a time of its own.
var errStalled = errors.New("no answer")

// compareKnown are the differences that are to stay, each with its reason: a
// line of the first server that matches real is as good as the second one's in
// its place that matches embedded. What the random sequences never ask for, for a
// reason of the same kind, says so where they are made.
var compareKnown = []struct {
	reason         string
	real, embedded *regexp.Regexp
}{
	{
		reason:   "an event's header has the zxid of its cause since ZooKeeper 3.9, and -1 before",
		real:     regexp.MustCompile(`^(    to \d: (?:the old connection: )?event .*), zxid -1, (.*)$`),
		embedded: regexp.MustCompile(`^(    to \d: (?:the old connection: )?event .*), zxid \d+, (.*)$`),
	},
	{
		reason:   "before ZooKeeper 3.9, checkWatches was content with anybody's watch",
		real:     regexp.MustCompile(`^(    to \d: answer \d+ to checkWatches, zxid \S+), OK $`),
		embedded: regexp.MustCompile(`^(    to \d: answer \d+ to checkWatches, zxid \S+), NoWatcher$`),
	},
}

// alike compares what came of a step, apart from the known differences. What the
// patterns capture has to be the same.
func alike(a, b string) bool {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(linesA) != len(linesB) {
		return false
	}
	for i, line := range linesA {
		same := line == linesB[i]
		for _, k := range compareKnown {
			m, n := k.real.FindStringSubmatch(line), k.embedded.FindStringSubmatch(linesB[i])
			same = same || m != nil && n != nil && slices.Equal(m[1:], n[1:])
		}
		if !same {
			return false
		}
	}
	return true
}

// compare takes both servers through the steps of a seed's sequence that are
// named, or all, and stops after the first one that has another outcome.
func compare(seed uint64, only []int, dialA, dialB func() (net.Conn, error)) (*compared, error) {
	root := fmt.Sprintf("/cmp%d", compareRoots.Add(1))
	steps := randomSteps(seed, root, compareLength)
	a, err := newPlayer(dialA, root)
	if err != nil {
		return nil, err
	}
	b, err := newPlayer(dialB, root)
	if err != nil {
		return nil, err
	}
	result := &compared{}
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
		if strings.Contains(seen, noAnswer) {
			return result, errStalled
		}
		if result.differs() {
			break
		}
	}
	if err := a.close(); err != nil {
		return result, fmt.Errorf("%w: %w", errStalled, err)
	}
	if err := b.close(); err != nil && !result.differs() {
		return result, err
	}
	return result, nil
}

// shrink leaves out whatever step the last difference does not need.
func shrink(seed uint64, c *compared, dialA, dialB func() (net.Conn, error)) *compared {
	for size := max(1, len(c.steps)/2); size > 0; size /= 2 {
		for at := 0; at < len(c.steps)-1; {
			rest := slices.Delete(slices.Clone(c.steps), at, min(at+size, len(c.steps)-1))
			if smaller, err := compare(seed, rest, dialA, dialB); err == nil && smaller.differs() {
				c = smaller
			} else {
				at += size
			}
		}
	}
	return c
}

func (c *compared) report(seed uint64, nameA, nameB string) string {
	var out strings.Builder
	list := make([]string, len(c.steps))
	for i, n := range c.steps {
		list[i] = strconv.Itoa(n)
	}
	fmt.Fprintf(&out, "%s and %s differ. To see it again: -run %s -compare.seed=%d -compare.steps=%s\n",
		nameA, nameB, "TestServerCompared", seed, strings.Join(list, ","))
	last := len(c.steps) - 1
	for i := range last {
		fmt.Fprintf(&out, "  %s\n%s", c.text[i], c.a[i])
	}
	fmt.Fprintf(&out, "  %s\n  %s:\n%s  %s:\n%s", c.text[last], nameA, c.a[last], nameB, c.b[last])
	return out.String()
}

// runComparison compares two servers by as many sequences as the flags say. When
// the first one stalls, start makes another.
func runComparison(t *testing.T, n int, nameA string, start func(*testing.T) func() (net.Conn, error), nameB string, dialB func() (net.Conn, error)) {
	t.Helper()
	var only []int
	if *compareSteps != "" {
		for field := range strings.SplitSeq(*compareSteps, ",") {
			i, err := strconv.Atoi(field)
			must(t, err)
			only = append(only, i)
		}
	}
	dialA := start(t)
	started, failures, stalls, done := time.Now(), 0, 0, 0
	for ; failures < 5; done++ {
		if *compareSeed != 0 && done > 0 || n > 0 && done >= n || n == 0 && done >= compareLeast && time.Since(started) > compareBudget {
			break
		}
		seed := *compareSeed
		if seed == 0 {
			seed = rand.Uint64()>>1 + 1
		}
		c, err := compare(seed, only, dialA, dialB)
		if errors.Is(err, errStalled) && stalls < 1+done/500 {
			t.Logf("seed %d: %v from %s; going on with another", seed, err, nameA)
			stalls++
			dialA = start(t)
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if c.differs() {
			failures++
			t.Errorf("%s", shrink(seed, c, dialA, dialB).report(seed, nameA, nameB))
		}
	}
	t.Logf("%d sequences of %d steps in %v; %d answers came only after another request", done, compareLength,
		time.Since(started).Round(time.Millisecond), compareNudges.Load())
}

// TestCompareRealWithItself: the comparison finds no difference where there is
// none.
func TestCompareRealWithItself(t *testing.T) {
	runComparison(t, 20, "one real server", compareReal, "another", compareReal(t))
}
