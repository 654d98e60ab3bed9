package demo

import (
	"strings"
	"testing"
)

func TestDemoVerdict(t *testing.T) {
	type step struct {
		worker string
		fence  int64 // of a hold that begins; 0: it ends
	}
	for _, tt := range []struct {
		name   string
		steps  []step
		faults []string
	}{
		{"in order", []step{{"a", 5}, {"a", 0}, {"b", 6}, {"b", 0}, {"a", 9}, {"a", 0}}, nil},
		{"the last one has not ended", []step{{"a", 5}, {"a", 0}, {"b", 6}}, nil},
		{"an end twice", []step{{"a", 5}, {"a", 0}, {"b", 6}, {"a", 0}, {"b", 0}, {"a", 7}}, nil},
		{"overlap", []step{{"a", 5}, {"b", 6}, {"a", 0}, {"b", 0}},
			[]string{"a with fence 5 and b with fence 6 held the lock at the same time"}},
		{"overlap with one long before, and a smaller fence", []step{{"a", 5}, {"a", 0}, {"b", 6}, {"c", 9}, {"b", 0}, {"a", 8}},
			[]string{"b with fence 6 and c with fence 9 held", "c with fence 9 and a with fence 8 held", "fence 8 of a came after fence 9"}},
		{"two within another", []step{{"a", 5}, {"b", 6}, {"b", 0}, {"c", 7}, {"c", 0}, {"a", 0}},
			[]string{"a with fence 5 and b with fence 6", "a with fence 5 and c with fence 7"}},
		{"beside two", []step{{"b", 5}, {"a", 6}, {"c", 7}},
			[]string{"b with fence 5 and a with fence 6", "a with fence 6 and c with fence 7", "b with fence 5 and c with fence 7"}},
		{"beside itself", []step{{"a", 5}, {"a", 6}}, []string{"a with fence 5 and a with fence 6"}},
		{"the same fence", []step{{"a", 5}, {"a", 0}, {"b", 5}}, []string{"fence 5 of b came after fence 5"}},
		{"a smaller fence", []step{{"a", 5}, {"a", 0}, {"b", 4}}, []string{"fence 4 of b came after fence 5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var j judge
			for _, s := range tt.steps {
				if s.fence != 0 {
					j.begin(s.worker, hold{fence: s.fence})
				} else {
					j.end(s.worker, 0)
				}
			}
			if len(j.faults) != len(tt.faults) {
				t.Fatalf("faults %q; want %q", j.faults, tt.faults)
			}
			for i, want := range tt.faults {
				if !strings.Contains(j.faults[i], want) {
					t.Errorf("fault %q, want %q", j.faults[i], want)
				}
			}
		})
	}
}
