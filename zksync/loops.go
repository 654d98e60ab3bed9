package zksync

import (
	"context"
	"slices"
)

// spot is where a node stands: the index of its queue, and its own in there.
type spot struct{ queue, node int32 }

func (s spot) in(queues []Queue) *LockNode { return &queues[s.queue].Nodes[s.node] }

// step leads from a waiting node to a node that blocks it.
type step struct{ from, to spot }

// loop is a cycle of owners that wait for each other. The node that a step leads to has
// the same owner as the node that the next step comes from.
type loop struct {
	steps []step
	locks bool // no permit is among them
}

// waitsOf returns the Waits that describe steps.
func waitsOf(queues []Queue, steps []step) []Wait {
	waits := make([]Wait, len(steps))
	for i, st := range steps {
		n, b := st.from.in(queues), st.to.in(queues)
		waits[i] = Wait{
			Owner: n.OwnerID, OwnerName: n.OwnerName, For: b.OwnerID, ForName: b.OwnerName,
			Path: queues[st.from.queue].Path, Node: n.Node, ForNode: b.Node,
		}
	}
	return waits
}

// findLoops returns for each node that waits the nearest one that blocks it, and
// the loops: one among locks for each set of owners that all wait for each other,
// and one through permits for a set without one among locks. It ignores nodes without an
// owner and those that are gone.
func findLoops(ctx context.Context, queues []Queue, gone map[spot]bool) (nearest []step, loops []loop, err error) {
	all := newGraph(ctx, queues, gone, true)
	locks := all
	if all.permits {
		locks = newGraph(ctx, queues, gone, false)
	}
	covered := make(map[string]bool) // owners that are in a loop among locks
	for _, steps := range locks.loops(nil) {
		loops = append(loops, loop{steps: steps, locks: true})
		for _, st := range steps {
			covered[st.from.in(queues).OwnerID] = true
		}
	}
	if all.permits {
		for _, steps := range all.loops(covered) {
			loops = append(loops, loop{steps: steps})
		}
	}
	for _, w := range all.waits {
		nearest = append(nearest, step{from: w.at, to: all.links[w.link].at})
	}
	for _, g := range []*graph{locks, all} {
		if g.err != nil {
			return nil, nil, g.err
		}
	}
	return nearest, loops, nil
}

// loops returns one loop for each component that has one and none of the covered
// owners.
func (g *graph) loops(covered map[string]bool) (loops [][]step) {
	g.components()
	done := make([]bool, len(g.size))
	for id := range covered {
		if o, ok := g.ids[id]; ok && g.err == nil {
			done[g.comp[o]] = true
		}
	}
	for o := range g.owners {
		if !g.step() {
			return nil
		}
		// No edge leads from an owner to itself, so that a component of two or more
		// vertices has a loop.
		if c := g.comp[o]; g.size[c] > 1 && !done[c] {
			done[c] = true
			loops = append(loops, g.around(int32(o)))
		}
	}
	return loops
}

// around returns a loop from an owner back to itself, through the fewest owners,
// within their component, which has one. It follows a chain until a link that it has
// visited or that is outside the component, from where no way leads back. So it visits
// each link once.
func (g *graph) around(start int32) []step {
	c := g.comp[start]
	links := g.comp[len(g.owners):]
	for from := []int32{start}; len(from) > 0; from = from[1:] {
		for w := g.owners[from[0]].waits; w != none; w = g.waits[w].next {
			for l := g.waits[w].link; l != none && links[l] == c && !g.links[l].seen; l = g.links[l].prev {
				if !g.step() {
					return nil
				}
				g.links[l].seen = true
				to := g.links[l].owner
				if o := &g.owners[to]; g.comp[to] == c && o.wait == none {
					o.wait, o.link = w, l
					if to == start {
						return g.back(start)
					}
					from = append(from, to)
				}
			}
		}
	}
	return nil
}

// back returns the way by which a search has returned to its start.
func (g *graph) back(start int32) (way []step) {
	for o := start; ; {
		w := g.waits[g.owners[o].wait]
		way = append(way, step{from: w.at, to: g.links[g.owners[o].link].at})
		if o = w.owner; o == start {
			slices.Reverse(way)
			return way
		}
	}
}
