package view

import (
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// Revoked is what revoke has done.
type Revoked struct {
	Path     string `json:"path"`
	Asked    []Node `json:"asked"`
	Waited   bool   `json:"waited"`   // with --wait
	Returned bool   `json:"returned"` // the nodes are gone; false if nobody waited to see
}

// NewRevoked returns the document about a revocation.
func NewRevoked(path string, asked []*Node, waited, returned bool) *Revoked {
	r := &Revoked{Path: path, Asked: []Node{}, Waited: waited, Returned: waited && returned}
	for _, n := range asked {
		r.Asked = append(r.Asked, *n)
	}
	return r
}

// Broken is what break has done.
type Broken struct {
	Path   string `json:"path"`
	Broken Node   `json:"broken"`         // the node that was deleted, as it was
	Next   *Node  `json:"next,omitempty"` // the holder afterwards
}

// NewBroken returns the document about a node that was deleted.
func NewBroken(path string, broken, next *Node) *Broken {
	return &Broken{Path: path, Broken: *broken, Next: next}
}

// Deadlocks is the deadlocks below a path.
type Deadlocks struct {
	Root   string    `json:"root"`
	At     time.Time `json:"at"`
	Cycles []Cycle   `json:"cycles"`
}

// Cycle is a deadlock.
type Cycle struct {
	Certain bool   `json:"certain"`
	Waits   []Wait `json:"waits"` // each one's for is the next one's owner
}

// Wait says that an owner waits for another one.
type Wait struct {
	Owner     string `json:"owner"`
	OwnerName string `json:"owner_name,omitempty"`
	For       string `json:"for"`
	ForName   string `json:"for_name,omitempty"`
	Path      string `json:"path"`
	Node      string `json:"node"`
	ForNode   string `json:"for_node"`
}

// NewDeadlocks returns the document about the cycles of a tree.
func NewDeadlocks(t *zksync.Tree, now time.Time) *Deadlocks {
	d := &Deadlocks{Root: t.Root, At: now.UTC(), Cycles: []Cycle{}}
	for _, c := range t.Cycles {
		cycle := Cycle{Certain: c.Certain, Waits: []Wait{}}
		for _, w := range c.Waits {
			cycle.Waits = append(cycle.Waits, Wait{
				Owner: w.Owner, OwnerName: w.OwnerName, For: w.For, ForName: w.ForName, Path: w.Path, Node: w.Node, ForNode: w.ForNode,
			})
		}
		d.Cycles = append(d.Cycles, cycle)
	}
	return d
}
