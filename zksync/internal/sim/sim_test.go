package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	simFor   = flag.Duration("sim.duration", 3*time.Second, "how long TestPrograms runs")
	simSeed  = flag.Uint64("sim.seed", 0, "the one program that TestPrograms runs, with its trace")
	simCount = flag.Int("sim.programs", 0, "how many programs TestPrograms runs, however long that takes")
	simTries = flag.Int("sim.tries", 1, "how often to run the program of -sim.seed until it fails")
	simAll   = flag.Bool("sim.all", false, "don't stop at the first program that fails")
	simFirst = flag.Uint64("sim.first", 1, "the seed of the first program")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// report tells what is wrong, and how to see it again.
func (w *world) report(t *testing.T) {
	t.Helper()
	if len(w.bad) == 0 {
		return
	}
	t.Errorf("go test ./zksync/internal/sim -run TestPrograms -sim.seed=%d\n%s\n%s", w.seed,
		strings.Join(w.bad, "\n"), w.plan)
	t.Log("\n" + strings.Join(w.trace, "\n"))
}

// Random programs under random faults keep what the package promises.
func TestPrograms(t *testing.T) {
	if *simSeed != 0 {
		// How goroutines take turns is not the seed's: several tries.
		for range *simTries {
			if w := simulate(t, *simSeed); len(w.bad) > 0 || *simTries == 1 {
				w.report(t)
				if len(w.bad) == 0 {
					t.Log("\n" + strings.Join(w.trace, "\n"))
				}
				return
			}
		}
		return
	}
	start, n := time.Now(), 0
	for seed := *simFirst; ; seed++ {
		if *simCount > 0 && n >= *simCount || *simCount == 0 && time.Since(start) > *simFor {
			break
		}
		n++
		simulate(t, seed).report(t)
		if t.Failed() && !*simAll {
			break
		}
	}
	t.Logf("%d programs in %v", n, time.Since(start).Round(time.Millisecond))
}

// The seeds in testdata/seeds have failed once; each line is one, with what it
// was.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "seeds"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var seed uint64
		if n, _ := fmt.Sscan(line, &seed); n == 1 {
			simulate(t, seed).report(t)
		}
	}
}
