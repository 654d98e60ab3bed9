package znode

import (
	"cmp"
	"math"
	"slices"
)

// LastSeq is the highest sequence that a node of ours may have. ZooKeeper's
// counter ends, or starts again below zero, not far above it; then earlier no
// longer means smaller.
const LastSeq = math.MaxInt32 - 1000

// Sort puts names into the order of the line: by sequence, as numbers. Where two
// have the same one, a read node comes after the others, and then the whole name
// decides, so that everyone sees the same line.
func Sort(names []Name) { slices.SortFunc(names, compare) }

func compare(a, b Name) int {
	return cmp.Or(
		cmp.Compare(a.Seq, b.Seq),
		cmp.Compare(late(a), late(b)),
		cmp.Compare(a.Raw, b.Raw),
	)
}

func late(n Name) int {
	if n.Kind == Read {
		return 1
	}
	return 0
}

// Exhausted reports whether the sequence of line[own] proves nothing: it is
// negative, above LastSeq, or another one's too. A write and a read node with
// one sequence are not a tie but one session on its way from writing to reading;
// a recipe made by hand has no such step, so that one of its nodes is a tie.
// Other nodes' numbers do not matter, however high: anyone can make a child with
// the highest. An own that is not an index of line counts as exhausted. The
// order of line does not matter.
func Exhausted(line []Name, own int) bool {
	if own < 0 || own >= len(line) {
		return true
	}
	me := line[own]
	if me.Seq < 0 || me.Seq > LastSeq {
		return true
	}
	for i, n := range line {
		if i != own && n.Seq == me.Seq && !pair(n, me) {
			return true
		}
	}
	return false
}

func pair(a, b Name) bool {
	return (a.Kind == Write && b.Kind == Read || a.Kind == Read && b.Kind == Write) &&
		a.Form != FormForeign && b.Form != FormForeign
}
