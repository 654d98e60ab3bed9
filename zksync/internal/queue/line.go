package queue

import (
	"math"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Blockers decides for all nodes of a line what their rules, [First], [NoWriter] and
// [Fits], decide for one node. For each node it returns the index of the node that the
// rule watches, or -1 if it is the node's turn. line is in order. Blockers takes one
// pass; the rules would compare all pairs.
func Blockers(line []znode.Name) []int {
	blockers := make([]int, len(line))
	alone := -1           // the newest node that is no reader's
	last, waits := -1, -1 // the newest permit that fits, and the newest that does not
	limit, sum := int64(math.MaxInt64), int64(0)
	for i, n := range line {
		switch n.Kind {
		case znode.Read:
			blockers[i] = alone
		case znode.Permit:
			limit = min(limit, n.Limit)
			if sum += n.Weight; sum < 0 {
				sum = math.MaxInt64
			}
			switch {
			case sum <= limit:
				blockers[i], last = -1, i
			case waits < 0:
				blockers[i], waits = last, i
			default:
				blockers[i], waits = waits, i
			}
		default:
			blockers[i] = i - 1
		}
		if n.Kind != znode.Read {
			alone = i
		}
	}
	return blockers
}
