package protocol_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

var only = flag.String("protocol.only", "", "explore only the scenarios whose names begin so, also the large ones")

// most bounds the states of a scenario. A larger one would take too long.
const most = 2_000_000

// exploring bounds the memory of searches side by side.
var exploring = make(chan struct{}, 2)

// each runs f for the scenarios that are wanted.
func each(t *testing.T, f func(t *testing.T, s *scenario)) {
	for i := range scenarios {
		s := &scenarios[i]
		if !strings.HasPrefix(s.name, *only) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			if (race.Enabled || testing.CoverMode() != "") && !s.small {
				t.Skip("one goroutine does all in no code of the library, so both only make it slow")
			}
			t.Parallel()
			exploring <- struct{}{}
			defer func() { <-exploring }()
			f(t, s)
		})
	}
}

// In no state of a scenario does anybody hold the lock who should not, and every run
// ends with everybody served.
func TestScenarios(t *testing.T) {
	each(t, func(t *testing.T, s *scenario) {
		if s.large && *only == "" {
			suite.Long(t)
		}
		w := s.world("")
		w.used = new([len(ways)]int)
		o := explore(w, most)
		if o.bad != "" {
			t.Fatalf("%s\n%s", o.bad, o.way())
		}
		if o.cut {
			t.Fatalf("more than %d states", most)
		}
		t.Logf("%d states, %d steps", o.states, o.steps)
		for _, by := range s.ways {
			if w.used[by] == 0 {
				t.Errorf("nobody knew its turn by %s: the scenario shows less than it says", ways[by])
			}
		}
	})
}

// A search that finds nothing may look at nothing: with each mistake it finds a
// violation. With -v the test prints the shortest way to each.
func TestMistakesOfTheProtocol(t *testing.T) {
	each(t, func(t *testing.T, s *scenario) {
		for _, m := range s.wrong {
			o := explore(s.world(m), suite.LongOr(most, 100_000))
			if o.cut && !suite.IsLong() {
				continue
			}
			if o.bad == "" {
				t.Errorf("%s: not found in %d states", m, o.states)
				continue
			}
			t.Logf("%s (%d states): %s\n%s", m, o.states, o.bad, o.way())
		}
	})
}

// The search leaves out orders of steps that don't depend on each other. Where looking
// at all orders takes little, it comes to the same.
func TestEveryOrder(t *testing.T) {
	each(t, func(t *testing.T, s *scenario) {
		if !s.small {
			return
		}
		for _, m := range append([]string{""}, s.wrong...) {
			w := s.world(m)
			w.all = true
			if o := explore(w, most); o.cut || (o.bad == "") != (m == "") {
				t.Errorf("with the mistake %q: %q\n%s", m, o.bad, o.way())
			}
		}
	})
}
