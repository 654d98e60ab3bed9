package znode

import (
	"cmp"
	"math"
	"slices"
)

// LastSeq is the highest sequence that a node of ours may have. Not far above it
// ZooKeeper's counter ends, or starts again below zero: from then on an earlier node
// may have a larger number.
const LastSeq = math.MaxInt32 - 1000

// Sort puts names into the order of the line: by sequence, as numbers. Among equal
// sequences read nodes come last, and then the whole name decides, so that every
// process sees the same line.
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

// Exhausted reports whether the sequence of line[own] proves nothing: it is negative,
// it is above LastSeq, or another node has the same one. A write node and a read node
// with one sequence are no tie: they belong to one session on its way from writing to
// reading. A recipe made by hand has no such step, so that its node is a tie. The
// numbers of other nodes do not matter, however high: any program can make a child
// with the highest. If own is not an index of line, the result is true. The order of
// line does not matter.
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
