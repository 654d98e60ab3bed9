package tree

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Given is what a node is, apart from its history. It is a plain value; copies share
// what its slices refer to.
type Given struct {
	Path      string
	Data      []byte
	ACL       []wire.ACL // nil: anyone may do all
	Owner     int64      // the session of an ephemeral node, or 0
	Container bool
	TTL       int64 // milliseconds; 0: none
	Line      int   // of the text that it stands in; 0: none
}

// Open reports whether an ACL lets anyone do all.
func Open(acl []wire.ACL) bool { return slices.Equal(acl, anyone) }

// Given returns what the node is, which the caller must not change.
func (n *Node) Given() Given {
	return Given{Path: n.path, Data: n.data, ACL: n.acl, Owner: n.owner, Container: n.kind == container, TTL: n.ttl}
}

// change is what makes the node.
func (g *Given) change() Change {
	c := Change{Op: wire.OpCreate, Path: g.Path, data: g.Data, ACL: g.ACL, owner: g.Owner, ttl: g.TTL}
	switch {
	case g.Owner != 0:
		c.kind = ephemeral
	case g.Container:
		c.kind = container
	case g.TTL != 0:
		c.kind = timed
	}
	return c
}

// Load makes nodes in one transaction, with parents where they are missing, whatever
// the ACLs of those that are there. The root gets the data and the ACL. The number of
// the next sequential node is then above those that end the names. The error names the
// node that can't be, and says why; then the tree has not changed, and the transaction is
// of no use.
func (t *Tree) Load(x *Txn, nodes []Given) error {
	nodes = slices.SortedStableFunc(slices.Values(nodes), func(a, b Given) int { return cmp.Compare(a.Path, b.Path) })
	var undo []func()
	for _, g := range nodes {
		if g.ACL == nil {
			g.ACL = anyone
		}
		more, code := t.load(x, g)
		undo = append(undo, more...)
		if code == wire.CodeOK {
			continue
		}
		for _, back := range slices.Backward(undo) {
			back()
		}
		return g.refused(code)
	}
	return nil
}

// refused returns the error of a node that can't be.
func (g *Given) refused(code wire.Code) error {
	var why string
	switch {
	case code == wire.CodeNodeExists:
		why = "the node is there already, or it is given twice"
	case code == wire.CodeNoChildrenForEphemerals:
		why = "its parent is ephemeral"
	case code == wire.CodeInvalidACL:
		why = "want world:anyone, digest:user:hash or ip:address in the ACL"
	case !validPath(g.Path):
		why = "want a path like /a/b, without empty names, names that are . or .., and control characters"
	default:
		why = fmt.Sprintf("want a time to live of at most %d ms", int64(maxTTL))
	}
	if g.Line > 0 {
		return fmt.Errorf("line %d: %s: %v: %s", g.Line, g.Path, code, why)
	}
	return fmt.Errorf("%s: %v: %s", g.Path, code, why)
}

// load makes one node and its missing parents.
func (t *Tree) load(x *Txn, g Given) (undo []func(), code wire.Code) {
	for _, a := range g.ACL {
		if !validEntry(a) {
			return nil, wire.CodeInvalidACL
		}
	}
	switch {
	case !validPath(g.Path) || g.TTL < 0 || g.TTL > maxTTL:
		return nil, wire.CodeBadArguments
	case g.Path == "/":
		return []func(){
			t.record(x, Change{Op: wire.OpSetData, Path: "/", data: g.Data}),
			t.record(x, Change{Op: wire.OpSetACL, Path: "/", ACL: g.ACL}),
		}, wire.CodeOK
	}
	parent := t.nodes[Parent(g.Path)]
	if parent == nil {
		undo, code = t.load(x, Given{Path: Parent(g.Path), Data: []byte{}, ACL: anyone})
		if code != wire.CodeOK {
			return undo, code
		}
		parent = t.nodes[Parent(g.Path)]
	}
	if code = t.checkChild(parent, g.Path); code != wire.CodeOK {
		return undo, code
	}
	undo = append(undo, t.record(x, g.change()))
	if next := nextSequence(g.Path); next > parent.creates {
		undo = append(undo, t.record(x, Change{Op: setSequence, Path: parent.path, creates: next}))
	}
	return undo, wire.CodeOK
}

// nextSequence returns the number that follows the one at the end of a path, 0 if there
// is none.
func nextSequence(p string) int32 {
	const digits = 10
	if len(p) <= digits {
		return 0
	}
	n, err := strconv.ParseUint(p[len(p)-digits:], 10, 31)
	if err != nil {
		return 0
	}
	return int32(min(n+1, math.MaxInt32))
}
