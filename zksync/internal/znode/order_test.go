package znode

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// line parses names, which must be names of lock nodes.
func line(t testing.TB, raw ...string) []Name {
	t.Helper()
	var names []Name
	for _, s := range raw {
		n, ok := Parse(s)
		if !ok {
			t.Fatalf("Parse(%q) fails", s)
		}
		names = append(names, n)
	}
	return names
}

// checkOrder sorts shuffled copies of want, and wants want back.
func checkOrder(t *testing.T, want ...string) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(len(want))))
	for range 50 {
		got := line(t, want...)
		rnd.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		Sort(got)
		if !slices.EqualFunc(got, want, func(n Name, s string) bool { return n.Raw == s }) {
			t.Fatalf("sorted to %+v, want %q", got, want)
		}
	}
}

func TestSort(t *testing.T) {
	checkOrder(t)
	checkOrder(t, "lock-0000000001")
	// A pair with one sequence: the write node is first. Then the whole name.
	checkOrder(t,
		"_c_"+dashed+"-__READ__0000000004",
		"_c_"+ownDashed+"-__WRIT__0000000005",
		"_c_"+dashed+"-__READ__0000000005",
		"_c_"+ownDashed+"-__READ__0000000005",
		"_c_"+dashed+"-__WRIT__0000000006",
		"_c_"+ownDashed+"-__WRIT__0000000006",
	)
}

func TestSortByNumberNotByName(t *testing.T) {
	checkOrder(t,
		"_c_ffffffff-d9cb-469f-a165-70867728950e-lock-0000000001",
		"zzz-lock-0000000002",
		hexed+"__lock__0000000003",
		"_c_00000000-d9cb-469f-a165-70867728950e-lock-0000000004",
		"lock-0000000005",
	)
}

func TestSequenceIsNotText(t *testing.T) {
	checkOrder(t,
		"lock--2147483648", "lock--2147483647", "lock--1000000000", "lock--000000002", "lock--000000001",
		"lock-0000000000", "lock-0000000009", "lock-0000000010", "lock-0000000011", "lock-2147483647",
	)
}

func TestCounterAtItsEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		line []string
		own  int
		want bool
	}{
		{"alone", []string{"lock-0000000005"}, 0, false},
		{"last good", []string{"lock-2147482647"}, 0, false},
		{"first bad", []string{"lock-2147482648"}, 0, true},
		{"end", []string{"lock-2147483647"}, 0, true},
		{"wrapped", []string{"lock--2147483648"}, 0, true},
		{"minus one", []string{"lock--000000001"}, 0, true},
		{"tie", []string{"alock-0000000005", "block-0000000005"}, 0, true},
		{"tie at the end", []string{"alock-2147483647", "block-2147483647"}, 1, true},
		{"tie of others", []string{"alock-0000000005", "block-0000000005", "lock-0000000006"}, 2, false},
		{"tie of writers", []string{"a__WRIT__0000000005", "b__WRIT__0000000005"}, 0, true},
		{"tie of readers", []string{"a__READ__0000000005", "b__READ__0000000005"}, 0, true},
		{"tie of kinds", []string{"lock-0000000005", "b__READ__0000000005"}, 0, true},
		{"pair, write", []string{"a__WRIT__0000000005", "b__READ__0000000005"}, 0, false},
		{"pair, read", []string{"a__WRIT__0000000005", "b__READ__0000000005"}, 1, false},
		{"pair and one more", []string{"a__WRIT__0000000005", "b__READ__0000000005", "c__READ__0000000005"}, 1, true},
		{"tie of permits", []string{"permit-1of3-0000000005", "permit-2of3-0000000005"}, 0, true},
		{"not in line", []string{"lock-0000000005"}, 1, true},
		{"not in line either", []string{"lock-0000000005"}, -1, true},
		{"no line", nil, 0, true},
	} {
		if got := Exhausted(line(t, tt.line...), tt.own); got != tt.want {
			t.Errorf("%s: Exhausted = %v", tt.name, got)
		}
	}
	if n := line(t, "lock-"+strconv.Itoa(LastSeq)); Exhausted(n, 0) || n[0].Seq != 2147482647 {
		t.Errorf("LastSeq = %d", LastSeq)
	}
}

func TestJunkWithTheHighestNumber(t *testing.T) {
	l := line(t, "lock-0000000005", "junk-lock-2147483647", "junk-lock--2147483648", "twin-lock-2147483647")
	Sort(l)
	own := slices.IndexFunc(l, func(n Name) bool { return n.Raw == "lock-0000000005" })
	if Exhausted(l, own) {
		t.Error("another's number exhausts us")
	}
	for i := range l {
		if i != own && !Exhausted(l, i) {
			t.Errorf("%s is not exhausted", l[i].Raw)
		}
	}
	// What the counter can't give is not even in the line.
	if n, ok := Parse("junk-lock-9999999999"); ok {
		t.Errorf("%+v", n)
	}
}
