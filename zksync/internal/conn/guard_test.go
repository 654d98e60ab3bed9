package conn

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A guard ends with its session, without contact, and with its node. Only one with a
// function to call ends without contact, as the others keep the probes going.
func TestGuardSet(t *testing.T) {
	start := time.Now()
	clock := quorumClock{timeout: T}
	clock.measure(1)
	clock.proved(start, start)
	var calls []string
	named := func(name string, session int64, paths ...string) *Guard {
		return &Guard{paths: paths, session: session, lost: func(reason error) func() {
			calls = append(calls, name+": "+reason.Error())
			return func() { calls = append(calls, "then") }
		}}
	}
	old, both, one := named("old", 2, "/old"), named("both", 1, "/a", "/b"), named("one", 1, "/c")
	probes := &Guard{session: 1, paths: []string{"/d"}}
	s := guardSet{old: {}, both: {}, one: {}, probes: {}}

	lost, paths := s.judge(&clock, start.Add(T/2-1))
	slices.Sort(paths)
	if len(lost.reasons) != 1 || lost.reasons[old] != ErrSessionOver || !slices.Equal(paths, []string{"/a", "/b", "/c", "/d"}) {
		t.Errorf("lost %v, nodes to check %v", lost.reasons, paths)
	}
	if lost := s.gone("/b"); len(lost.reasons) != 1 || lost.reasons[both] != ErrNodeGone {
		t.Errorf("lost %v", lost.reasons)
	}
	if lost := s.gone("/b"); lost.reasons != nil {
		t.Errorf("lost again: %v", lost.reasons)
	}
	last := named("last", 1)
	s[last] = struct{}{}
	lost, paths = s.judge(&clock, start.Add(T/2))
	if len(lost.reasons) != 2 || lost.reasons[one] != ErrNoContact || lost.reasons[last] != ErrNoContact || !slices.Equal(paths, []string{"/d"}) {
		t.Errorf("lost %v, nodes to check %v", lost.reasons, paths)
	}
	if len(s) != 1 {
		t.Errorf("%d guards left, want 1", len(s))
	}

	lost.report()
	slices.Sort(calls[:2])
	want := []string{"last: " + ErrNoContact.Error(), "one: " + ErrNoContact.Error(), "then", "then"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	clock.measure(2)
	lost, _ = s.judge(&clock, start)
	lost.report() // nobody to call
	if lost.reasons[probes] != ErrSessionOver || len(s) != 0 {
		t.Errorf("lost %v, %d guards left", lost.reasons, len(s))
	}
}

// Nodes are divided into transactions of a bounded size. Unreadable nodes are alone,
// and only some of them at a time.
func TestDivide(t *testing.T) {
	var u unreadable
	if parts := u.divide(nil); len(parts) != 0 {
		t.Errorf("%d parts of nothing", len(parts))
	}
	var paths []string
	for i := range 3 * partSize / 1000 {
		paths = append(paths, strings.Repeat("x", 968)+string(rune('0'+i/10))+string(rune('0'+i%10)))
	}
	parts := u.divide(paths)
	if len(parts) != 4 || !slices.Equal(slices.Concat(parts...), paths) {
		t.Errorf("%d parts", len(parts))
	}
	for _, part := range parts {
		size := 0
		for _, p := range part {
			size += len(p) + 32
		}
		if size > partSize {
			t.Errorf("a part of %d bytes", size)
		}
	}
	u.note("/none", false)
	for _, p := range paths[:maxAlone+5] {
		u.note(p, true)
	}
	u.note("/elsewhere", true)
	parts = u.divide(paths)
	alone := 0
	for _, part := range parts {
		if len(part) == 1 {
			alone++
		}
	}
	if rest := slices.Concat(parts[alone:]...); alone != maxAlone || !slices.Equal(rest, paths[maxAlone+5:]) {
		t.Errorf("%d nodes alone, %d in other parts", alone, len(rest))
	}
	if n := len(u.paths); n != maxAlone+5 {
		t.Errorf("%d unreadable nodes, want %d: one is guarded no more", n, maxAlone+5)
	}
	u.note(paths[0], false)
	if parts := u.divide(paths[:2]); len(parts) != 2 || parts[0][0] != paths[1] || len(u.paths) != 1 {
		t.Errorf("parts %d", len(parts))
	}
}
