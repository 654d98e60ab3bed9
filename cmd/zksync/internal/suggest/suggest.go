// Package suggest finds the name that a misspelt one was meant to be.
package suggest

import "strings"

// tooFar is the distance from which names have nothing to do with each other, as in cobra's
// suggestions for commands.
const tooFar = 3

// Names returns those of the names that wrong was probably meant to be, in their order: the
// nearest ones, else those that it is the beginning of, or the other way round. Upper and
// lower case don't matter. It returns nil if there is none.
func Names(wrong string, names []string) (list []string) {
	wrong = strings.ToLower(wrong)
	least := min(tooFar, len(wrong))
	for _, name := range names {
		d := Distance(wrong, strings.ToLower(name))
		if d < least {
			least, list = d, nil
		}
		if d == least && d < min(tooFar, len(wrong)) {
			list = append(list, name)
		}
	}
	if list != nil || len(wrong) < 3 {
		return list
	}
	for _, name := range names {
		if low := strings.ToLower(name); strings.HasPrefix(low, wrong) || strings.HasPrefix(wrong, low) {
			list = append(list, name)
		}
	}
	return list
}

// Distance returns how many bytes have to be inserted, deleted or replaced to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
