//go:build unix

package foreign

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// outcome is what came of one test.
type outcome struct {
	passed, skipped bool
	said            string // why it failed
	took            time.Duration
}

func (o outcome) String() string {
	switch {
	case o.passed:
		return "passes"
	case o.skipped:
		return "is skipped"
	}
	return "fails"
}

// outcomes are those of a suite, by the names of the tests.
type outcomes map[string]outcome

func (all outcomes) passed() (n int) {
	for _, o := range all {
		if o.passed {
			n++
		}
	}
	return n
}

// entry is a line of the list of tests that do not pass on both servers.
type entry struct {
	suite, test, kind string
	reason            string
}

// readKnown reads the list of one suite. A line has the suite, the test, the kind and
// the reason.
func readKnown(text, of string) (map[string]entry, error) {
	known := make(map[string]entry)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.SplitN(line, " ", 4)
		if len(words) < 4 {
			return nil, fmt.Errorf("%q: want suite, test, kind and reason", line)
		}
		e := entry{words[0], words[1], words[2], words[3]}
		if !slices.Contains([]string{"zktest", "real", "both"}, e.kind) {
			return nil, fmt.Errorf("%q: the kind is none of zktest, real, both", line)
		}
		if e.suite != of {
			continue
		}
		if _, twice := known[e.test]; twice {
			return nil, fmt.Errorf("%s %s is listed twice", e.suite, e.test)
		}
		known[e.test] = e
	}
	return known, nil
}

// judge returns what the list does not say of a suite's outcomes, and what it says
// wrongly.
func judge(real, embedded outcomes, known map[string]entry) []string {
	var wrong []string
	names := maps.Clone(real)
	maps.Copy(names, embedded)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r, inReal := real[name]
		e, inEmbedded := embedded[name]
		listed, isListed := known[name]
		is := fmt.Sprintf("%s: %v on real ZooKeeper, %v on zktest", name, r, e)
		switch {
		case inReal != inEmbedded:
			wrong = append(wrong, fmt.Sprintf("%s: ran on one server only (real: %v, zktest: %v)", name, inReal, inEmbedded))
		case isListed:
			if r.passed == listed.failsOn("real") || e.passed == listed.failsOn("zktest") || r.skipped || e.skipped {
				wrong = append(wrong, is+", and the list says: does not pass on "+listed.kind)
			}
		case r.passed && e.passed, r.skipped && e.skipped:
		default:
			wrong = append(wrong, is+", and the list does not say so\n"+indent(r.said)+indent(e.said))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, ok := names[name]; !ok {
			wrong = append(wrong, name+" is listed, and there is no such test")
		}
	}
	return wrong
}

func indent(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) > 60 {
		lines = append([]string{"..."}, lines[len(lines)-60:]...)
	}
	return "    " + strings.Join(lines, "\n    ") + "\n"
}

// logSlowest tells which tests take long.
func (all outcomes) logSlowest(t *testing.T, kind string) {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Compare(all[b].took, all[a].took) })
	for _, name := range names[:min(10, len(names))] {
		t.Logf("%v %s on %s", all[name].took.Round(100*time.Millisecond), name, kind)
	}
}

// least is how many tests a suite has, so that none gets lost.
var least = map[string]int{"go-zookeeper": 28, "kazoo": 479, "curator": 40}

// listed returns the list of one suite.
func listed(t *testing.T, of string) map[string]entry {
	t.Helper()
	text, err := os.ReadFile("testdata/known.txt")
	suite.Must(t, err)
	known, err := readKnown(string(text), of)
	suite.Must(t, err)
	return known
}

// failsOn reports whether the test is known not to pass on a kind of servers.
func (e entry) failsOn(kind string) bool { return e.kind == kind || e.kind == "both" }

// compare fails the test for all that the list says wrongly of a suite.
func compare(t *testing.T, of string, results map[string]outcomes) {
	t.Helper()
	if *only != "" || *match != "" {
		report(t, results)
		return
	}
	known := listed(t, of)
	real, embedded := results["real"], results["zktest"]
	real.logSlowest(t, "real")
	embedded.logSlowest(t, "zktest")
	for _, wrong := range judge(real, embedded, known) {
		t.Error(wrong)
	}
	if len(real) < least[of] {
		t.Errorf("%d tests of %s, want %d or more", len(real), of, least[of])
	}
	suite.Tell(fmt.Sprintf("%s: of %d tests %d pass on real ZooKeeper and %d on zktest", of, len(real), real.passed(), embedded.passed()))
	for _, name := range slices.Sorted(maps.Keys(known)) {
		suite.Tell(fmt.Sprintf("%s: %s does not pass on %s: %s", of, name, known[name].kind, known[name].reason))
	}
}

// report shows what came of a part of a suite.
func report(t *testing.T, results map[string]outcomes) {
	t.Helper()
	for kind, all := range results {
		t.Logf("%d of %d pass on %s", all.passed(), len(all), kind)
		all.logSlowest(t, kind)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if o := all[name]; !o.passed {
				t.Errorf("%s %v on %s\n%s", name, o, kind, indent(o.said))
			}
		}
	}
}
