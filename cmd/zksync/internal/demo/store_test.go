package demo

import "testing"

func TestDemoStore(t *testing.T) {
	var s store
	for _, w := range []struct {
		fence int64
		taken bool
	}{{5, true}, {5, true}, {9, true}, {5, false}, {8, false}, {9, true}} {
		if got := s.write(w.fence); got != w.taken {
			t.Errorf("a write with fence %d taken: %v, want %v", w.fence, got, w.taken)
		}
	}
	if s.accepted != 4 || s.refused != 2 {
		t.Errorf("%d accepted, %d refused", s.accepted, s.refused)
	}
}
