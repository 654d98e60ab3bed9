package demo

import (
	"strings"
	"testing"
)

func TestDemoVerdict(t *testing.T) {
	hold := func(worker int, fence, begin, end int64) held {
		return held{worker: worker, fence: fence, begin: begin, end: end, how: saysRelease}
	}
	for _, tt := range []struct {
		name   string
		holds  []held
		faults []string
		grow   bool
	}{
		{"in order", []held{hold(0, 5, 10, 20), hold(1, 6, 21, 30), hold(0, 9, 35, 40)}, nil, true},
		{"told late", []held{hold(1, 6, 21, 30), hold(0, 5, 10, 20)}, nil, true},
		{"touching", []held{hold(0, 5, 10, 20), hold(1, 6, 20, 30)}, nil, true},
		{"overlap", []held{hold(0, 5, 10, 22), hold(1, 6, 20, 30)},
			[]string{"worker 1 with fence 5 and worker 2 with fence 6 held the lock at the same time, for 2ns"}, true},
		{"overlap with one long before", []held{hold(0, 5, 10, 50), hold(1, 6, 60, 61), hold(2, 7, 62, 90), hold(1, 8, 91, 92), hold(0, 9, 70, 80)},
			[]string{"worker 3 with fence 7 and worker 1 with fence 9 held the lock at the same time, for 10ns", "fence 8 of worker 2 came after fence 9"}, false},
		{"one within another", []held{hold(0, 5, 10, 90), hold(1, 6, 20, 30), hold(2, 7, 40, 50)},
			[]string{"worker 1 with fence 5 and worker 2 with fence 6", "worker 1 with fence 5 and worker 3 with fence 7"}, true},
		{"the same fence", []held{hold(0, 5, 10, 20), hold(1, 5, 21, 30)}, []string{"fence 5 of worker 2 came after fence 5 of worker 1"}, false},
		{"a smaller fence", []held{hold(0, 5, 10, 20), hold(1, 4, 21, 30)}, []string{"fence 4 of worker 2 came after fence 5 of worker 1"}, false},
		{"no end", []held{{worker: 0, fence: 5, begin: 10}}, []string{"nobody knows when the hold of worker 1 with fence 5 ended"}, true},
		{"an end before the begin", []held{hold(0, 5, 10, 9)}, []string{"ended before it began"}, true},
		{"no holds", nil, []string{"nobody ever held the lock"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := (&judge{holds: tt.holds}).verdict()
			if len(v.faults) != len(tt.faults) || v.grow != tt.grow {
				t.Fatalf("faults %v, fences grow: %v; want %q, %v", v.faults, v.grow, tt.faults, tt.grow)
			}
			for i, want := range tt.faults {
				if !strings.Contains(v.faults[i].Error(), want) {
					t.Errorf("fault %q, want %q", v.faults[i], want)
				}
			}
		})
	}
}
