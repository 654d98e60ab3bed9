package sim

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	simMistake = flag.String("sim.mistake", "", "the one deliberate mistake that TestMistakesAreFound looks for, with the whole trace")
	simOverlay = flag.String("sim.overlay", "", "the directory in which TestMistakesApply leaves the edited files and overlay.json")
)

// most is how many programs may pass before a mistake is found.
const most = 2000

// The edits that make the deliberate mistakes fit the library, and what they make
// of it compiles.
func TestMistakesApply(t *testing.T) {
	dir := *simOverlay
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	overlay, packages, err := writeOverlay(dir, mistakes())
	if err != nil {
		t.Fatal(err)
	}
	goCommand(t, append([]string{"build", "-overlay=" + overlay}, packages...)...)
	if *simOverlay != "" {
		t.Logf("ZKSYNC_MISTAKE=%s go test -overlay=%s ./zksync", mistakes()[0].name, overlay)
	}
}

// Each deliberate mistake is found, within the same programs: a program that
// fails with it passes without it.
func TestMistakesAreFound(t *testing.T) {
	if os.Getenv("ZKSYNC_LONG") != "1" && *simMistake == "" {
		t.Log("looks for the deliberate mistakes with ZKSYNC_LONG=1 only")
		return
	}
	wanted := slices.DeleteFunc(mistakes(), func(m mistake) bool {
		return m.aid || *simMistake != "" && m.name != *simMistake
	})
	if len(wanted) == 0 {
		t.Fatalf("-sim.mistake: there is no %q to be found", *simMistake)
	}
	dir := t.TempDir()
	overlay, _, err := writeOverlay(dir, mistakes())
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "sim.test.exe") // Windows wants the ending, the others don't mind
	goCommand(t, "test", "-c", "-overlay="+overlay, "-o", bin, "./zksync/internal/suite/sim")
	start := time.Now()
	var found atomic.Int64
	t.Cleanup(func() { // when they have all been looked for; .ci/run wants this line
		t.Logf("%d of %d deliberate mistakes found, in %v", found.Load(), len(wanted), time.Since(start).Round(time.Millisecond))
	})
	for _, m := range wanted {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.find(t, bin) {
				found.Add(1)
			}
		})
	}
}

// find looks for a program that fails with the mistake and passes without it.
func (m mistake) find(t *testing.T, bin string) bool {
	start := time.Now()
	both := strings.Trim(m.name+","+m.with, ",")
	kinds, base := strings.Join(olderKinds(), ","), uint64(0)
	if m.kind != "" {
		kinds, base = m.kind, elections
	}
	first := base + max(*simFirst, 1)
	last := first + most
	for from := first; from < last; {
		// The seeds from first on, one by one: the newer kinds have their own.
		seed, what, output := fails(t, bin, both, "-sim.kind="+kinds,
			fmt.Sprintf("-sim.first=%d", from), fmt.Sprintf("-sim.programs=%d", last-from), "-sim.parallel=1")
		if seed == 0 {
			break
		}
		from = seed + 1
		// It is the mistake that is found, not what goes with it.
		if other, what, _ := fails(t, bin, m.with, fmt.Sprintf("-sim.seed=%d", seed)); other != 0 {
			t.Logf("program %d fails without it: %s", seed-first+1, what)
			continue
		}
		t.Logf("found by program %d, %q, in %v: %s", seed-first+1, newPlan(seed, *simFull).story, time.Since(start).Round(time.Millisecond), what)
		if *simMistake != "" {
			t.Logf("%s\n%s", m.is, output)
		}
		return true
	}
	t.Errorf("not found by %d programs, in %v: %s", most, time.Since(start).Round(time.Millisecond), m.is)
	return false
}

// failure is what report prints of a program that fails, crash what is printed of one
// that panics: then the seed is the last that was begun.
var (
	failure = regexp.MustCompile(`-run TestPrograms -sim\.seed=(\d+) .*\n *(.*)`)
	crash   = regexp.MustCompile(`(?s).*begins -sim\.seed=(\d+)\n.*?(panic: [^\n]*)\n(?:\[signal [^\n]*\n)?\ngoroutine \d+ \[[^\n]*, synctest bubble `)
)

// fails has TestPrograms run with mistakes. It returns the seed of the program that
// fails, and the first that is wrong with it; 0 if none does.
func fails(t *testing.T, bin, mistakes string, args ...string) (seed uint64, what, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"-test.run=^TestPrograms$", "-test.timeout=10m", "-sim.begins",
		"-sim.full=" + strconv.FormatBool(*simFull)}, args...)...)
	cmd.Env = append(os.Environ(), "ZKSYNC_MISTAKE="+mistakes)
	text, err := cmd.CombinedOutput()
	if err == nil {
		return 0, "", ""
	}
	var exit *exec.ExitError
	match := failure.FindStringSubmatch(string(text))
	if match == nil {
		match = crash.FindStringSubmatch(string(text))
	}
	if !errors.As(err, &exit) || match == nil {
		t.Fatalf("%v\n%s", err, text)
	}
	seed, err = strconv.ParseUint(match[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed, match[2], string(text)
}

// The seed of a program that panics is read from what Go prints of it.
func TestCrashIsRecognised(t *testing.T) {
	begins, trace := "begins -sim.seed=12\nbegins -sim.seed=13\n", "\ngoroutine 4133 [running, synctest bubble 13]:\n"
	for _, text := range []string{
		"panic: unlock of unlocked lock\n",
		"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x70d23d]\n",
	} {
		match := crash.FindStringSubmatch(begins + text + trace)
		if first, _, _ := strings.Cut(text, "\n"); match == nil || match[1] != "13" || match[2] != first {
			t.Errorf("%q for %q", match, text)
		}
	}
}

// goCommand runs the go command in the repository. Flags of the environment for
// the coverage of these tests are not for what they build.
func goCommand(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = repository
	flags := slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), func(f string) bool {
		return strings.HasPrefix(strings.TrimLeft(f, "-"), "cover")
	})
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.Join(flags, " "))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// An edit that no longer fits is named, so that it can't rot.
func TestMistakesThatDoNotApply(t *testing.T) {
	text := "package p\n\nfunc f() int { return 1 }\n\nfunc g() int { return 2 }\n"
	of := func(name, stands, errs string) change { return change{name, edit{"p.go", stands, errs}} }
	one := of("One", "return 1", `if mistake("One") { return 0 }; return 1`)
	for _, tc := range []struct {
		name    string
		changes []change
		want    string // in the error; "": none
	}{
		{"fit", []change{of("Two", "return 2", `if mistake("Two") { return 0 }; return 2`), one}, ""},
		{"not there", []change{one, of("Two", "return 3", "return 4")}, "mistake Two finds its text 0 times instead of once in p.go"},
		{"twice", []change{one, of("Two", "func ", "func ")}, "mistake Two finds its text 2 times instead of once in p.go"},
		{"overlap", []change{of("Two", "1 }", "2 }"), one}, "mistakes One and Two overlap in p.go"},
		{"no Go", []change{one, of("Two", "return 2", "return 2 }")}, "mistake Two: p.go:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := rewrite(text, tc.changes)
			switch {
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got the error %v, want one with %q", err, tc.want)
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want == "" && (!strings.Contains(string(got), `mistake("One")`) || !strings.Contains(string(got), `mistake("Two")`)):
				t.Errorf("an edit is missing in\n%s", got)
			}
		})
	}
	for name, m := range map[string]mistake{
		"asks for A, which":  {name: "One", is: "It errs.", edits: []edit{{"p.go", "x", `mistake("One") || mistake("A")`}}},
		"does not ask":       {name: "One", is: "It errs.", edits: []edit{{"p.go", "x", "y"}}},
		"no text or no edit": {name: "One", is: "It errs."},
		"goes with A, which": {name: "One", is: "It errs.", with: "A", edits: []edit{{"p.go", "x", `mistake("One")`}}},
	} {
		if err := checkMistakes([]mistake{m}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got the error %v, want one with %q", err, name)
		}
	}
}
