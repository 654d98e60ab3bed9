package queue

import "github.com/zklocker/go-zksync/zksync/internal/znode"

// Verdict is what a rule says of a place in line.
type Verdict struct {
	Held bool // it is our turn
	// Watch is the index of the node whose end may make it our turn.
	Watch int
	// Sole: the end of that node alone makes it our turn, whatever else
	// happens in the line meanwhile.
	Sole bool
	// Crowd: any change of the line may make it our turn, not only Watch's end.
	Crowd bool
	Place int // in line, if that is not the number of nodes before: 1 is the next
}

// Rule decides who blocks whom. line is in order; own is the index of the node
// that asks. A Rule must not look behind own: two nodes that each wait for a later
// one would wait for each other.
type Rule func(line []znode.Name, own int) Verdict

// First is the rule of a mutex: it is the turn of whoever is first. The one
// before is watched, so that each release wakes one.
func First(line []znode.Name, own int) Verdict {
	if own == 0 {
		return Verdict{Held: true}
	}
	// A write node may end because a read node of its holder took its place, and a
	// permit because one of a smaller weight did.
	first := line[0].Kind
	return Verdict{Watch: own - 1, Sole: own == 1 && first != znode.Write && first != znode.Permit}
}
