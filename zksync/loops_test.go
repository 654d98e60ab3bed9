package zksync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// lineNode is a node in a line, as Inspect shows it.
func lineNode(seq int, mode Mode, owner string, held bool) LockNode {
	marker := map[Mode]string{ModeMutex: "lock-", ModeWrite: "__WRIT__", ModeRead: "__READ__", ModePermit: "permit-1of1-"}[mode]
	name := fmt.Sprintf("_c_%08x-4a53-4c4f-8a2f-2f0f5a3c8f10-%s%010d", seq, marker, seq)
	return LockNode{Node: "/l/" + name, Mode: mode, Sequence: int64(seq), OwnerID: owner, OwnerName: owner, Held: held, Session: int64(seq) + 1}
}

// lines are shapes of n nodes with an owner each.
var lines = map[string]func(n int) []Queue{
	"mutex": func(n int) []Queue { return []Queue{oneLine(n, func(int) Mode { return ModeMutex })} },
	"readers and a writer": func(n int) []Queue {
		return []Queue{oneLine(n, func(i int) Mode {
			if i == n-1 {
				return ModeWrite
			}
			return ModeRead
		})}
	},
	"by turns": func(n int) []Queue {
		return []Queue{oneLine(n, func(i int) Mode { return []Mode{ModeWrite, ModeRead}[i%2] })}
	},
	"permits": func(n int) []Queue { return []Queue{oneLine(n, func(int) Mode { return ModePermit })} },
	// The first waits for the last, so that each waits for all.
	"one circle": func(n int) []Queue {
		q := oneLine(n-2, func(int) Mode { return ModeMutex })
		last := q.Nodes[n-3].OwnerID
		return []Queue{q, {Path: "/m", Nodes: []LockNode{lineNode(0, ModeMutex, last, true), lineNode(1, ModeMutex, "o0", false)}}}
	},
	// Each has a lock, and waits for the next one's.
	"ring": func(n int) (queues []Queue) {
		k := n / 2
		for i := range k {
			queues = append(queues, Queue{Path: fmt.Sprint("/r", i), Nodes: []LockNode{
				lineNode(0, ModeMutex, fmt.Sprint("o", i), true), lineNode(1, ModeMutex, fmt.Sprint("o", (i+k-1)%k), false)}})
		}
		return queues
	},
	// The last of a line has what somebody waits for whom the first one waits for.
	"round the line": func(n int) []Queue {
		q := oneLine(n-4, func(int) Mode { return ModeMutex })
		return []Queue{
			{Path: "/k", Nodes: []LockNode{lineNode(0, ModeMutex, "s", true), lineNode(1, ModeMutex, "o0", false)}}, q,
			{Path: "/m", Nodes: []LockNode{lineNode(0, ModeMutex, q.Nodes[n-5].OwnerID, true), lineNode(1, ModeMutex, "s", false)}},
		}
	},
	// Pairs in deadlock, all of whom wait in one line besides.
	"pairs": func(n int) []Queue {
		k := n / 6
		queues := []Queue{oneLine(2*k, func(int) Mode { return ModeMutex })}
		for i := range k {
			a, b := fmt.Sprint("o", 2*i), fmt.Sprint("o", 2*i+1)
			queues = append(queues,
				Queue{Path: fmt.Sprint("/a", i), Nodes: []LockNode{lineNode(0, ModeMutex, a, true), lineNode(1, ModeMutex, b, false)}},
				Queue{Path: fmt.Sprint("/b", i), Nodes: []LockNode{lineNode(0, ModeMutex, b, true), lineNode(1, ModeMutex, a, false)}})
		}
		return queues
	},
}

func oneLine(n int, mode func(i int) Mode) Queue {
	q := Queue{Path: "/l"}
	for i := range n {
		q.Nodes = append(q.Nodes, lineNode(i, mode(i), fmt.Sprint("o", i), i == 0))
	}
	return q
}

// Ten times the nodes take ten times the steps, whatever they wait for, and ten
// thousand in one line take little memory.
func TestLoopsAreLinear(t *testing.T) {
	for name, shape := range lines {
		steps := func(n int) int {
			queues := shape(n)
			g := newGraph(context.Background(), queues, nil, true)
			loops := g.loops(nil)
			if g.err != nil {
				t.Fatal(g.err)
			}
			want := map[string]int{"one circle": 1, "ring": 1, "round the line": 1, "pairs": n / 6}[name]
			if len(loops) != want {
				t.Fatalf("%s: %d loops, want %d", name, len(loops), want)
			}
			return g.steps
		}
		small, large := steps(1_200), steps(12_000)
		if large > 11*small || large > 20*12_000 {
			t.Errorf("%s: %d steps for 1,200 nodes, %d for 12,000", name, small, large)
		}
		queues := shape(10_000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tree := Tree{Queues: queues}
		waits, loops, err := findLoops(context.Background(), queues, nil)
		if err != nil {
			t.Fatal(err)
		}
		tree.Waits = waitsOf(queues, waits)
		runtime.ReadMemStats(&after)
		if len(tree.Waits) > len(queues)+10_000 || len(loops) > 10_000/6 {
			t.Errorf("%s: %d waits, %d loops", name, len(tree.Waits), len(loops))
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 25 {
			t.Errorf("%s: %d MiB for 10,000 nodes", name, mib)
		}
	}
}

// The helper chains lead to all who block a node and to nobody else: what is
// found in lines of all sorts is what a search of all pairs finds.
func TestLoopsAreThoseOfAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	locks, permits, free := 0, 0, 0
	for range 20_000 {
		queues := someLines(r)
		_, loops, err := findLoops(context.Background(), queues, nil)
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[bool][]string) // owners in a loop, by what it is of
		for _, l := range loops {
			checkLoop(t, queues, l)
			for _, st := range l.steps {
				found[l.locks] = append(found[l.locks], st.from.in(queues).OwnerID)
			}
		}
		lockReach, reach := reachable(queues, false), reachable(queues, true)
		for _, o := range []string{"a", "b", "c", "d", "e"} {
			together := func(reach map[[2]string]bool, found []string) bool {
				return slices.ContainsFunc(found, func(p string) bool { return p == o || reach[[2]string{o, p}] && reach[[2]string{p, o}] })
			}
			if together(lockReach, found[true]) != lockReach[[2]string{o, o}] {
				t.Fatalf("%s: %v among locks, loops %+v of\n%+v", o, lockReach[[2]string{o, o}], loops, queues)
			}
			if together(reach, append(found[true], found[false]...)) != reach[[2]string{o, o}] {
				t.Fatalf("%s: %v, loops %+v of\n%+v", o, reach[[2]string{o, o}], loops, queues)
			}
		}
		locks, permits = locks+len(found[true]), permits+len(found[false])
		if len(loops) == 0 {
			free++
		}
	}
	if locks < 1000 || permits < 1000 || free < 1000 {
		t.Errorf("the lines are of few sorts: %d, %d and %d", locks, permits, free)
	}
}

// someLines are a few queues, in which five owners stand.
func someLines(r *rand.Rand) []Queue {
	queues := make([]Queue, 1+r.IntN(4))
	for q := range queues {
		queues[q].Path = fmt.Sprint("/", q)
		modes := [][]Mode{{ModeMutex}, {ModeRead, ModeWrite}, {ModePermit}, {ModePermit, ModeMutex, ModeRead, ModeWrite}}[r.IntN(4)]
		for i := range r.IntN(5) {
			owner := []string{"a", "b", "c", "d", "e", ""}[r.IntN(6)]
			n := lineNode(i, modes[r.IntN(len(modes))], owner, i == 0 || r.IntN(4) == 0)
			n.Session = 1 + r.Int64N(2)
			queues[q].Nodes = append(queues[q].Nodes, n)
		}
	}
	return queues
}

// pairBlocks says of each pair whether one waits for the other.
func pairBlocks(n, b *LockNode) bool {
	switch {
	case n.OwnerID == "" || b.OwnerID == "" || n.Held:
		return false
	case n.Mode == ModeRead:
		return b.Mode != ModeRead
	case n.Mode == ModePermit:
		return b.Mode == ModePermit
	}
	return true
}

// reachable returns which owners wait for which, directly or through others.
func reachable(queues []Queue, permits bool) map[[2]string]bool {
	reach := make(map[[2]string]bool)
	owners := make(map[string]bool)
	for _, q := range queues {
		for i := range q.Nodes {
			n := &q.Nodes[i]
			owners[n.OwnerID] = true
			for j := range i {
				b := &q.Nodes[j]
				if pairBlocks(n, b) && (permits || n.Mode != ModePermit && b.Mode != ModePermit) {
					reach[[2]string{n.OwnerID, b.OwnerID}] = true
				}
			}
		}
	}
	for via := range owners {
		for from := range owners {
			for to := range owners {
				if reach[[2]string{from, via}] && reach[[2]string{via, to}] {
					reach[[2]string{from, to}] = true
				}
			}
		}
	}
	return reach
}

// checkLoop checks that each step of a loop is a wait, and leads to the next.
func checkLoop(t *testing.T, queues []Queue, l loop) {
	t.Helper()
	seen := make(map[string]bool)
	for i, st := range l.steps {
		n, b := st.from.in(queues), st.to.in(queues)
		next := l.steps[(i+1)%len(l.steps)].from.in(queues)
		if st.from.queue != st.to.queue || st.from.node <= st.to.node || !pairBlocks(n, b) || b.OwnerID != next.OwnerID || seen[n.OwnerID] ||
			l.locks && (n.Mode == ModePermit || b.Mode == ModePermit) {
			t.Fatalf("step %d of %+v in %+v", i, l, queues)
		}
		seen[n.OwnerID] = true
	}
	if len(l.steps) == 0 {
		t.Fatal("a loop of nobody")
	}
}

// A loop goes through as few owners as it can from where it begins.
func TestLoopsAreShort(t *testing.T) {
	queues := lines["one circle"](1_000)
	_, loops, err := findLoops(context.Background(), queues, nil)
	if err != nil || len(loops) != 1 || len(loops[0].steps) != 2 {
		t.Errorf("%d loops, %v: %+v", len(loops), err, loops)
	}
	checkLoop(t, queues, loops[0])
}

// endsAfter is a context that ends when it has been asked a few times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A context that ends stops the search, wherever it is.
func TestLoopsEndWithTheContext(t *testing.T) {
	queues := lines["ring"](10_000)
	for asked := range 200 {
		ctx := &endsAfter{context.Background(), asked}
		_, loops, err := findLoops(ctx, queues, nil)
		if ctx.left >= 0 {
			if asked < 10 || err != nil || len(loops) != 1 {
				t.Errorf("%v, %d loops, when it was asked %d times", err, len(loops), asked-ctx.left)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || loops != nil {
			t.Fatalf("asked %d times: %v", asked, err)
		}
	}
	t.Error("there is no end to it")
}

// BenchmarkLoops is what ten thousand nodes cost apart from reading them.
func BenchmarkLoops(b *testing.B) {
	for name, shape := range lines {
		b.Run(name, func(b *testing.B) {
			queues := shape(10_000)
			b.ReportAllocs()
			for b.Loop() {
				waits, _, err := findLoops(context.Background(), queues, nil)
				if err != nil {
					b.Fatal(err)
				}
				waitsOf(queues, waits)
			}
		})
	}
}
