package demo

import "strconv"

// scale says which moment a column of the picture stands for.
type scale struct {
	columns int
	start   int64 // of clock: where the first column begins
	total   int64 // nanoseconds of all columns
	now     int64 // of clock: what comes after it is not known yet
}

// moment returns the moment in the middle of a column.
func (s scale) moment(column int) int64 {
	return s.start + s.total*int64(2*column+1)/int64(2*s.columns)
}

// column returns the first column whose middle a moment does not exceed, or the
// last column.
func (s scale) column(moment int64) int {
	c := 0
	for c < s.columns-1 && s.moment(c) < moment {
		c++
	}
	return c
}

// cell is one character of a row.
type cell struct {
	char  byte
	paint paint
}

// draw draws a worker's row. A column shows what the worker did at the moment in
// its middle. That moment is the same in all rows, so two rows show a hold in the
// same column only if two workers held the lock at the same time.
func (r *row) draw(b *brush, s scale) {
	states := r.states(s)
	cells := make([]cell, len(states))
	for i, state := range states {
		cells[i] = state.cell()
	}
	labelHolds(cells, states, b.color)
	for _, m := range r.marks {
		cells[s.column(m.at)] = cell{m.sign, badPaint}
	}
	b.cells(cells)
}

// states returns what the worker does in each column. In the future it is away.
func (r *row) states(s scale) []state {
	states := make([]state, s.columns)
	for c := range states {
		if at := s.moment(c); at <= s.now {
			states[c] = r.at(at)
		}
	}
	return states
}

// cell returns how a state looks.
func (s state) cell() cell {
	switch {
	case s.doing == away:
		return cell{' ', noPaint}
	case s.doing == holding && s.cut:
		return cell{'#', doubtPaint}
	case s.doing == holding:
		return cell{'#', holdPaint}
	case s.cut:
		return cell{'~', redPaint}
	case s.doing == waiting:
		return cell{'.', dimPaint}
	}
	return cell{' ', noPaint}
}

// labelHolds writes the fence of each hold into its cells. A hold is one, and has
// one label, even if the worker is cut off in the middle of it.
func labelHolds(cells []cell, states []state, color bool) {
	for from := 0; from < len(cells); {
		to := runEnd(states, from, func(a, b state) bool { return a.span == b.span })
		if states[from].doing == holding {
			label(cells[from:to], states[from].fence, color)
		}
		from = to
	}
}

// label writes a fence into the cells of its hold, if it fits.
func label(cells []cell, fence int64, color bool) {
	if color { // the colour shows where the hold begins and ends
		for i := range cells {
			cells[i].char = ' '
		}
	}
	text := strconv.FormatInt(fence, 10)
	if len(text) > len(cells) {
		return
	}
	at := (len(cells) - len(text)) / 2
	for i := range text {
		cells[at+i].char = text[i]
	}
}

// cells writes cells. Neighbours of the same paint share one sequence.
func (b *brush) cells(cells []cell) {
	for from := 0; from < len(cells); {
		to := runEnd(cells, from, func(a, b cell) bool { return a.paint == b.paint })
		text := make([]byte, 0, to-from)
		for _, c := range cells[from:to] {
			text = append(text, c.char)
		}
		b.put(cells[from].paint, string(text))
		from = to
	}
}

// runEnd returns the end of the run that begins at from: of the elements that are
// the same as the first.
func runEnd[T any](s []T, from int, same func(a, b T) bool) int {
	to := from + 1
	for to < len(s) && same(s[from], s[to]) {
		to++
	}
	return to
}
