package tree

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Random multis on a small tree: one that fails changes nothing, and the others
// have the same effect on a copy.
func TestRandomTransactions(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 0))
		tr := New()
		copied := tr.Clone()
		for range 40 {
			ops := make([]Request, 1+rng.IntN(3))
			for i := range ops {
				ops[i] = randomRequest(rng)
			}
			x := tr.Begin(now + rng.Int64N(100))
			before := dump(tr)
			_, failed, _ := tr.Multi(x, ops, me)
			if failed && dump(tr) != before {
				t.Fatalf("seed %d: %+v failed and changed the tree:\n%s\nbefore\n%s", seed, ops, dump(tr), before)
			}
			copied.Replay(x)
			if got, want := dump(copied), dump(tr); got != want {
				t.Fatalf("seed %d: %+v on a copy:\n%s\nwant\n%s", seed, ops, got, want)
			}
			if got := dump(tr.Clone()); got != dump(tr) {
				t.Fatalf("seed %d: after %+v a clone differs:\n%s", seed, ops, got)
			}
		}
	}
}

func randomRequest(rng *rand.Rand) Request {
	ops := []wire.Op{wire.OpCreate, wire.OpCreate, wire.OpCreateTTL, wire.OpDelete, wire.OpSetData, wire.OpCheck}
	r := Request{Op: ops[rng.IntN(len(ops))], ACL: world, Version: -1, Part: true}
	depth := 1 + rng.IntN(2)
	for range depth {
		r.Path += fmt.Sprint("/", rng.IntN(3))
	}
	r.Data = []byte{byte('a' + rng.IntN(26))}
	r.Flags = rng.Int32N(flagSeqTTL + 1)
	if r.TTL = -1; r.Op == wire.OpCreateTTL {
		r.TTL = rng.Int64N(3)
	}
	if rng.IntN(4) == 0 {
		r.Version = rng.Int32N(2)
	}
	return r
}
