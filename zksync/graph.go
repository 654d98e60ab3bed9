package zksync

import (
	"context"
	"path"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// graph records which owner waits for which. It does not have an edge for each pair, since
// a line of n nodes has n²/2 pairs, but helper chains along each line:
//
//	line     A(write)   B(read)   C(read)   D(write)
//	everyone    A <------- B <------- C <------- D
//	alone       A <----------------------------- D
//
// A link of a chain leads to the owner of its node and to the link before. A node
// that waits has one edge from its owner to the link that was the newest when the node
// came: for a write node in the chain of everyone, for a read node in the chain of the
// nodes that hold alone. So it reaches exactly the nodes that block it. Permits are
// blocked by permits only, and have a chain of their own.
type graph struct {
	ctx   context.Context
	steps int // the number of steps taken, to check ctx now and then
	err   error

	ids     map[string]int32 // the index of each owner
	owners  []owner
	waits   []edge
	links   []link
	permits bool // some node is a permit

	comp []int32 // of each owner, and then of each link: its component, from 1
	size []int32 // of each component
}

// owner is a vertex for all nodes of one owner.
type owner struct {
	waits int32 // the first of its waits, or none
	// How a search came here: by a link to which a wait leads.
	wait, link int32
}

// edge leads from an owner to a link.
type edge struct {
	at    spot // the node that waits
	owner int32
	link  int32
	next  int32 // wait of the same owner, or none
}

// link is a vertex of a helper chain.
type link struct {
	at    spot // the node of this link
	owner int32
	prev  int32 // link of the chain, or none
	seen  bool  // a search has visited it
}

const none int32 = -1

// newGraph returns the graph of queues, with or without their permits.
func newGraph(ctx context.Context, queues []Queue, gone map[spot]bool, permits bool) *graph {
	g := &graph{ctx: ctx, ids: make(map[string]int32)}
	for q := range queues {
		nodes := queues[q].Nodes
		everyone, alone, permit := none, none, none // the newest link of each chain
		for i := range nodes {
			n, at := &nodes[i], spot{int32(q), int32(i)}
			if !g.step() {
				return g
			}
			g.permits = g.permits || n.Mode == ModePermit
			if n.OwnerID == "" || gone[at] || n.Mode == ModePermit && !permits {
				continue
			}
			o := g.owner(n.OwnerID)
			blocker := everyone
			switch n.Mode {
			case ModeRead:
				blocker = alone
			case ModePermit:
				blocker = permit
			}
			if !n.Held && blocker != none && !twins(&nodes[i-1], n) {
				g.waits = append(g.waits, edge{at: at, owner: o, link: blocker, next: g.owners[o].waits})
				g.owners[o].waits = int32(len(g.waits) - 1)
			}
			everyone = g.link(at, o, everyone)
			if n.Mode != ModeRead {
				alone = g.link(at, o, alone)
			}
			if n.Mode == ModePermit {
				permit = g.link(at, o, permit)
			}
		}
	}
	return g
}

// step counts a step, and reports whether ctx has not ended.
func (g *graph) step() bool {
	if g.steps++; g.steps%1024 == 0 && g.err == nil && g.ctx.Err() != nil {
		g.err = ctxErr(g.ctx)
	}
	return g.err == nil
}

func (g *graph) owner(id string) int32 {
	o, ok := g.ids[id]
	if !ok {
		o = int32(len(g.owners))
		g.ids[id] = o
		g.owners = append(g.owners, owner{waits: none, wait: none, link: none})
	}
	return o
}

func (g *graph) link(at spot, owner, prev int32) int32 {
	g.links = append(g.links, link{at: at, owner: owner, prev: prev})
	return int32(len(g.links) - 1)
}

// twins reports whether two neighbours in line are nodes of one call, so that the second
// does not wait for the first: a second node for kazoo, or the read node that replaces the
// write node of a downgraded call.
func twins(a, b *LockNode) bool {
	if a.Session != b.Session || a.OwnerID != b.OwnerID {
		return false
	}
	if a.Sequence == b.Sequence {
		return true
	}
	first, _ := znode.Parse(path.Base(a.Node))
	second, _ := znode.Parse(path.Base(b.Node))
	return first.HasGUID && first.GUID == second.GUID
}
