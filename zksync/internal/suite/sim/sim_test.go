package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	simFor      = flag.Duration("sim.duration", duration(), "how long TestPrograms runs")
	simCount    = flag.Uint64("sim.programs", 0, "how many programs TestPrograms runs, however long that takes")
	simFirst    = flag.Uint64("sim.first", 1, "the seed of the first program; 0: a random one")
	simFull     = flag.Bool("sim.full", false, "only programs of 4 sessions with 4 goroutines each, and faults")
	simKind     = flag.String("sim.kind", "", "only programs of these kinds, with commas between: "+strings.Join(kindNames(), ", "))
	simParallel = flag.Int("sim.parallel", runtime.GOMAXPROCS(0), "how many programs TestPrograms runs at a time")
	simAll      = flag.Bool("sim.all", false, "don't stop at the first program that fails")
	simSeed     = flag.Uint64("sim.seed", 0, "the one program that TestPrograms runs, with its trace")
	simTries    = flag.Int("sim.tries", 1, "how often to run the program of -sim.seed, until it fails")
	simBegins   = flag.Bool("sim.begins", false, "print the seed of each program to standard error before it runs: of one that crashes, too, it is known")
	simWithout  = flag.String("sim.without", "", "what to leave out of the program of -sim.seed, with commas between: p1, p1.0, p1.0/2, f3")
)

// duration is how long TestPrograms runs by default: shorter in the short form.
func duration() time.Duration {
	if os.Getenv("ZKSYNC_LONG") == "1" {
		return 3 * time.Second
	}
	return 2 * time.Second
}

// A program that takes longer than this is not coming to an end.
const endless = 2 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	// A panic shows all goroutines: simulate's plan begins with the seed.
	debug.SetTraceback("all")
	goleak.VerifyTestMain(m)
}

// again is the command that runs the plan once more.
func (p plan) again() string {
	cmd := fmt.Sprintf("go test ./zksync/internal/suite/sim -run TestPrograms -sim.seed=%d -sim.tries=100", p.seed)
	if p.full {
		cmd += " -sim.full"
	}
	return cmd
}

// report fails the test with what is wrong, and how to see it again.
func (w *world) report(t *testing.T) {
	t.Helper()
	if len(w.bad) == 0 {
		return
	}
	t.Errorf("%s\n%s\n%s", w.again(), strings.Join(w.bad, "\n"), w.plan)
	t.Log("\n" + strings.Join(w.trace, "\n"))
}

// Random programs under random faults keep what the package promises.
func TestPrograms(t *testing.T) {
	if *simSeed != 0 {
		runOne(t)
		return
	}
	first := *simFirst
	if first == 0 {
		first = 1 + rand.Uint64N(1<<40)
	}
	kinds := strings.FieldsFunc(*simKind, func(r rune) bool { return r == ',' })
	for _, kind := range kinds {
		if !slices.Contains(kindNames(), kind) {
			t.Fatalf("-sim.kind: no %q, but %q", kind, kindNames())
		}
	}
	var next, taken atomic.Uint64
	start := time.Now()
	more := func() (seed uint64, ok bool) {
		if t.Failed() && !*simAll || *simCount == 0 && time.Since(start) > *simFor {
			return 0, false
		}
		if n := taken.Add(1); *simCount > 0 && n > *simCount {
			return 0, false
		}
		for {
			seed = seedOf(first, next.Add(1)-1)
			if len(kinds) == 0 || slices.Contains(kinds, newPlan(seed, *simFull).kindName()) {
				return seed, true
			}
		}
	}
	var done atomic.Uint64
	t.Run("at once", func(t *testing.T) {
		for i := range max(*simParallel, 1) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for seed, ok := more(); ok; seed, ok = more() {
					if *simBegins {
						fmt.Fprintf(os.Stderr, "begins -sim.seed=%d\n", seed)
					}
					simulate(t, newPlan(seed, *simFull)).report(t)
					done.Add(1)
				}
			})
		}
	})
	n, took := done.Load(), time.Since(start)
	t.Logf("%d programs, from seed %d on, in %v: %.0f a second", n, first, took.Round(time.Millisecond), float64(n)/took.Seconds())
}

// runOne runs the program of -sim.seed. How its goroutines take turns is not the
// seed's: hence several tries.
func runOne(t *testing.T) {
	p := newPlan(*simSeed, *simFull)
	for what := range strings.SplitSeq(*simWithout, ",") {
		if what != "" && !p.drop(what) {
			t.Fatalf("-sim.without: no %s in\n%s", what, p)
		}
	}
	var w *world
	for n := range max(*simTries, 1) {
		if w = simulate(t, p); len(w.bad) > 0 {
			t.Logf("failed at try %d", n+1)
			w.report(t)
			return
		}
	}
	t.Logf("%s\n%s", p, strings.Join(w.trace, "\n"))
}

// The seeds in testdata/seeds have failed once; each line is one, perhaps of a
// full program, with what it was.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "seeds"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		number, full := strings.CutPrefix(line, "full ")
		var seed uint64
		if n, _ := fmt.Sscan(number, &seed); n != 1 {
			t.Fatalf("testdata/seeds: no seed in %q", line)
		}
		simulate(t, newPlan(seed, full)).report(t)
	}
}
