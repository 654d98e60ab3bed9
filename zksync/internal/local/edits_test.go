package local

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/race"
)

// edits are deliberate mistakes: each breaks a rule of the line.
var edits = []struct{ rule, file, text, errs string }{
	{"one live holder holds alone", "grant.go",
		`case h.kind.Alone():
		l.single = h`, `case h.kind.Alone() && h.kind != Write:
		l.single = h`},
	{"a holder that can't be is lost before there is another", "grant.go",
		`for h := l.contradicted(t); h != nil && t.moving; h = l.contradicted(t) {`,
		`for h := l.contradicted(t); h != nil && t.moving && h.owner != ""; h = l.contradicted(t) {`},
	{"each group in front has a ticket", "line.go",
		`if g := l.first(); g != nil && g.front && g.ticket == nil {`, `if g := l.first(); g != nil && g.front && g.ticket == nil && g.Kind != Write {`},
	{"a ticket serves a group in front, or leaves", "owner.go",
		`	if t != nil {
		l.reuse(t, then)`, `	if t != nil && then != nil {
		l.reuse(t, then)`},
	{"a fence that was shown serves one owner", "holder.go",
		`h.ticket.seen = true`, `h.ticket.seen = h.ticket.seen || h.kind == Read`},
	{"the budget bounds hand-overs", "release.go",
		`t.turns >= budget && l.alone(t)`, `t.turns >= budget`},
	{"lost levels are given back first", "release.go",
		`			return h.lost != nil
		}
		return h.kind`, `			return h.lost == nil
		}
		return h.kind`},
	{"a call is answered once", "release.go",
		`		return // answered
	}`, `		l.answer(c)
		return
	}`},
	{"nobody overtakes", "line.go",
		`	case c.Kind != Read:
		l.tail = nil
	}`, `	}`},
	{"no more permits than a node has weight", "release.go",
		`g.Weight > h.ticket.weight ||`, `g.Weight > h.ticket.weight+1 ||`},
	{"a lost holder keeps its place", "release.go",
		`	case l.single == h:
		l.retreat()`, `	case l.single == h && why == nil:
		l.retreat()`},
	{"calls of one owner that wait enter together", "grant.go",
		`	if h.owner != "" {
		l.gather(h)`, `	if h.owner != "" && h.kind != Write {
		l.gather(h)`},
	{"a call that can't enter any more ends", "owner.go",
		`	return never // an`, `	return same // an`},
	{"a call that can enter does not end", "owner.go",
		`	case reads && h.kind == Write:
		return beside`, `	case reads && h.kind == Write && c.Want.Handle:
		return beside`},
	{"a holder lasts until a call of its owner has entered", "holder.go",
		` && h.handles == 0 && h.entering == 0 }`, ` && h.handles == 0 }`},
	{"a call that was sent to a holder counts until it has entered", "owner.go",
		`	h.entering--
`, `
`},
	{"an owner does not enter in the calls of others", "owner.go",
		`	all := l.asking[g.Owner]
	if all == nil {`, `	all := l.asking["a"]
	if all == nil {`},
	{"what an owner has elsewhere ends its calls", "owner.go",
		`		c.err, c.peer = ErrDeadlock, nil
		l.answer(c)
	}
	l.settle()`, `		c.err = nil
		l.answer(c)
	}
	l.settle()`},
	{"a grant that may be given back ends no call", "owner.go",
		`		if how == never {
			continue
		}`, `		if how == never {
			l.take(c)
			c.err = ErrDeadlock
			l.answer(c)
			continue
		}`},
	{"a call that can't enter ends once the grant is taken", "owner.go",
		`l.forbid(h.owner, math.MaxInt64)`, `l.forbid(h.owner, math.MinInt64)`},
	{"work that holds the lock does not wait for it", "line.go",
		`	if c.Within {`, `	if c.Within && c.Try {`},
	{"an owner unlocks nobody else's level but an anonymous one", "holder.go",
		`owner != "" && h.owner != "" && h.owner != owner`, `owner != "" && h.owner == "" && h.owner != owner`},
	{"whoever waits is served", "release.go",
		`		l.place(g)
	}
	if t.holder == nil {
		l.leave(t)`, `		l.place(g)
	}
	if t.holder == nil && !renewed {
		l.leave(t)`},
}

// edited returns a file of the package with an edit applied.
func edited(t *testing.T, i int) string {
	t.Helper()
	e := edits[i]
	text, err := os.ReadFile(e.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), e.text); n != 1 {
		t.Fatalf("the edit against %q finds its text %d times instead of once in %s:\n%s", e.rule, n, e.file, e.text)
	}
	return strings.Replace(string(text), e.text, e.errs, 1)
}

// The deliberate mistakes still apply.
func TestEditsApply(t *testing.T) {
	for i := range edits {
		edited(t, i)
	}
}

// A line that breaks one of its rules is found out by the random programs, or by the
// small worlds.
func TestEditsAreFound(t *testing.T) {
	if os.Getenv("ZKSYNC_LONG") == "" || race.Enabled || testing.CoverMode() != "" {
		t.Skip("ZKSYNC_LONG=1 runs it, but neither with the race detector nor for coverage")
	}
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, e := range edits {
		copied, overlay := filepath.Join(dir, e.file), filepath.Join(dir, "overlay.json")
		files, _ := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, e.file): copied}})
		if err := os.WriteFile(copied, []byte(edited(t, i)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(overlay, files, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=2m", "-overlay", overlay, "-run", "^(TestLine|TestSmallWorlds.*)$", ".")
		// Flags for coverage would have the files read without the overlay.
		cmd.Env = append(os.Environ(), "ZKSYNC_LONG=", "GOFLAGS=-buildvcs=false")
		switch out, err := cmd.CombinedOutput(); {
		case err == nil:
			t.Errorf("nothing finds the edit against %q:\n%s", e.rule, out)
		case strings.Contains(string(out), "build failed"):
			t.Errorf("the edit against %q:\n%s", e.rule, out)
		default:
			found++
		}
	}
	t.Logf("%d of %d edits found", found, len(edits))
}
