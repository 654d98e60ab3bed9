package queue

import "github.com/zklocker/go-zksync/zksync/internal/znode"

// Verdict is the decision of a rule for a position in line.
type Verdict struct {
	Held bool // it is our turn
	// Watch is the index of the node whose end may make it our turn.
	Watch int
	// Sole means that the end of that node makes it our turn, whatever else happens in
	// the line meanwhile.
	Sole bool
	// Crowd means that any change of the line may make it our turn, not only the end of
	// the node at Watch.
	Crowd bool
	Place int // our position, if it is not the number of nodes before ours: 1 is the next
}

// Rule decides which node blocks which. line is in order; own is the index of our
// node. A Rule must not look at nodes behind own: two nodes that each wait for a later
// node would wait for each other.
type Rule func(line []znode.Name, own int) Verdict

// First is the rule of a mutex: it is the turn of the first node. Each node watches
// the node before it, so that a release wakes one session.
func First(line []znode.Name, own int) Verdict {
	if own == 0 {
		return Verdict{Held: true}
	}
	// A write node may end because a read node of its holder replaces it, and a
	// permit because a permit of a smaller weight does.
	first := line[0].Kind
	return Verdict{Watch: own - 1, Sole: own == 1 && first != znode.Write && first != znode.Permit}
}
