package zktest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// TestProtocolAtRandom has long conversations without a plan with a server in
// memory and with a real one, and compares them line by line.
func TestProtocolAtRandom(t *testing.T) {
	const seeds, steps = 4, 300
	lines := make(map[uint64][]string) // as the first of the two spoke
	both(t, func(t *testing.T, connect func() *rawConn) {
		for seed := range uint64(seeds) {
			c := connect()
			base, rnd := c.ping(), rand.New(rand.NewPCG(seed, 0))
			c.create(fmt.Sprint("/random", seed), 0)
			first := lines[seed] == nil
			for i := range steps {
				s := randomStep(rnd, fmt.Sprint("/random", seed))
				r, events := c.do(s.op, s.parts...)
				line := fmt.Sprintf("%v %v: %s | %s", s.op, s.parts, events, text(c, s.op, r, base))
				if first {
					lines[seed] = append(lines[seed], line)
				} else if lines[seed][i] != line {
					t.Fatalf("seed %d, step %d:\nhere  %s\nfirst %s", seed, i, line, lines[seed][i])
				}
			}
		}
	})
}

// randomStep draws a request about one of a few nodes below root.
func randomStep(rnd *rand.Rand, root string) step {
	paths := []string{root, root + "/a", root + "/b", root + "/a/c", root + "/a/d", root + "/a/c/e", root + "/s-"}
	path := func() string { return paths[rnd.IntN(len(paths))] }
	// The root has the lasting watches to itself: before 3.9 the last of two ways
	// to watch a path replaces the other.
	below := func() string { return paths[1+rnd.IntN(len(paths)-1)] }
	version := func() int { return rnd.IntN(4) - 1 }
	write := func() step {
		switch rnd.IntN(5) {
		case 0:
			return st(wire.OpDelete, "", path(), version())
		case 1:
			return st(wire.OpSetData, "", path(), make([]byte, rnd.IntN(3)), version())
		case 2:
			return st(wire.OpCheck, "", path(), version())
		}
		return st(opCreate, "", crt(path(), rnd.IntN(4))...)
	}
	switch rnd.IntN(12) {
	case 0:
		return st(wire.OpExists, "", below(), true)
	case 1:
		return st(wire.OpGetData, "", below(), true)
	case 2:
		return st(wire.OpGetChildren2, "", below(), true)
	case 3, 4:
		var ops []any
		for range 1 + rnd.IntN(4) {
			s := write()
			ops = append(ops, op(s.op, s.parts...))
		}
		return st(wire.OpMulti, "", append(ops, end)...)
	case 5:
		return st(wire.OpSetWatches, "", rnd.Int64N(2)<<61, []string{below()}, []string{below()}, []string{below()})
	case 6:
		return st(wire.OpCheckWatches, "", path(), 1+rnd.IntN(3))
	case 7:
		return st(wire.OpRemoveWatches, "", path(), 1+rnd.IntN(3))
	case 8:
		return st(wire.OpSetACL, "", path(), open31, version())
	case 9:
		if rnd.IntN(4) == 0 {
			return st(wire.OpAddWatch, "", root, 1)
		}
		return st(wire.OpGetData, "", path(), false)
	case 10:
		return st(wire.OpGetChildren2, "", path(), false)
	}
	for {
		if s := write(); s.op != wire.OpCheck { // which a client sends within a multi only
			return s
		}
	}
}
