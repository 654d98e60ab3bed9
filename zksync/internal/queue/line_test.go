package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// A whole line is judged as each of its nodes is by its rule.
func TestBlockersAgreeWithTheRules(t *testing.T) {
	rules := map[znode.Kind]Rule{znode.Exclusive: First, znode.Write: First, znode.Read: NoWriter, znode.Permit: Fits}
	kinds := []znode.Kind{znode.Exclusive, znode.Write, znode.Read, znode.Permit}
	limits := []int64{1, 3, 5, 20, math.MaxInt64}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		some := kinds[r.IntN(len(kinds)):][:1]
		if r.IntN(2) == 0 {
			some = kinds
		}
		line := make([]znode.Name, r.IntN(12))
		for i := range line {
			line[i] = znode.Name{Kind: some[r.IntN(len(some))], Seq: int64(i)}
			if line[i].Kind == znode.Permit {
				line[i].Limit = limits[r.IntN(len(limits))]
				line[i].Weight = 1 + r.Int64N(line[i].Limit)
			}
		}
		want := make([]int, len(line))
		for i, n := range line {
			v := rules[n.Kind](line, i)
			if want[i] = v.Watch; v.Held {
				want[i] = -1
			}
		}
		if got := Blockers(line); !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", line, got, want)
		}
	}
}
