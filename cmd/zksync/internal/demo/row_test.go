package demo

import "testing"

func TestStateCell(t *testing.T) {
	for _, tt := range []struct {
		doing doing
		cut   bool
		want  cell
	}{
		{away, false, cell{' ', noPaint}},
		{away, true, cell{' ', noPaint}},
		{idle, false, cell{' ', noPaint}},
		{idle, true, cell{'~', redPaint}},
		{waiting, false, cell{'.', dimPaint}},
		{waiting, true, cell{'~', redPaint}},
		{holding, false, cell{'#', holdPaint}},
		{holding, true, cell{'#', doubtPaint}},
	} {
		if got := (state{span{doing: tt.doing}, tt.cut}).cell(); got != tt.want {
			t.Errorf("doing %d, cut %v: %+v, want %+v", tt.doing, tt.cut, got, tt.want)
		}
	}
}

func TestLabelHolds(t *testing.T) {
	hold := func(from, fence int64, cut bool) state { return state{span{from, holding, fence}, cut} }
	wait := state{span: span{doing: waiting}}
	for _, tt := range []struct {
		name        string
		states      []state
		plain, tint string
	}{
		{"none", []state{wait, wait}, "..", ".."},
		{"in the middle", []state{wait, hold(1, 7, false), hold(1, 7, false), hold(1, 7, false), wait}, ".#7#.", ". 7 ."},
		{"one hold, cut off on the way", []state{hold(1, 42, false), hold(1, 42, true)}, "42", "42"},
		{"two that touch", []state{hold(1, 3, false), hold(2, 4, false)}, "34", "34"},
		{"no room", []state{hold(1, 123, false), hold(1, 123, false), wait}, "##.", "  ."},
	} {
		for color, want := range map[bool]string{false: tt.plain, true: tt.tint} {
			var cells []cell
			for _, s := range tt.states {
				cells = append(cells, s.cell())
			}
			labelHolds(cells, tt.states, color)
			var got []byte
			for _, c := range cells {
				got = append(got, c.char)
			}
			if string(got) != want {
				t.Errorf("%s, color %v: %q, want %q", tt.name, color, got, want)
			}
		}
	}
}

// Cells of the same paint share a sequence.
func TestBrushCells(t *testing.T) {
	b := &brush{color: true}
	b.cells([]cell{{' ', noPaint}, {'.', dimPaint}, {'.', dimPaint}, {'~', redPaint}})
	if got, want := b.String(), " \x1b[2m..\x1b[0m\x1b[31m~\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A moment is in the column of which it is not past the middle, and what is past
// the last middle is in the last column.
func TestScale(t *testing.T) {
	s := scale{columns: 4, start: 100, total: 80}
	for c, want := range []int64{110, 130, 150, 170} {
		if got := s.moment(c); got != want {
			t.Errorf("the middle of column %d is %d, want %d", c, got, want)
		}
	}
	for moment, want := range map[int64]int{0: 0, 110: 0, 111: 1, 170: 3, 171: 3, 1000: 3} {
		if got := s.column(moment); got != want {
			t.Errorf("%d is in column %d, want %d", moment, got, want)
		}
	}
}
