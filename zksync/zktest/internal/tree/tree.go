package tree

import (
	"maps"
	"math"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Tree is the nodes as of one transaction. The zero value is not usable: use
// [New]. It must not be copied; [Tree.Clone] makes a copy. Its owner guards it.
type Tree struct {
	nodes      map[string]*Node
	zxid       int64                         // of the last transaction
	ephemerals map[int64]map[string]struct{} // paths by session
	selfGoing  map[string]struct{}           // containers and timed nodes
}

// anyone is the ACL of the nodes that are there from the start.
var anyone = []wire.ACL{{Perms: PermAll, Scheme: "world", ID: "anyone"}}

// New returns a tree with ZooKeeper's own nodes.
func New() *Tree {
	t := empty()
	for _, p := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		t.add(&Node{path: p, data: []byte{}, acl: anyone})
	}
	c := t.nodes[ConfigPath]
	c.acl, c.version, c.aversion = []wire.ACL{{Perms: PermRead, Scheme: "world", ID: "anyone"}}, -1, -1
	return t
}

func empty() *Tree {
	return &Tree{
		nodes:      make(map[string]*Node),
		ephemerals: make(map[int64]map[string]struct{}),
		selfGoing:  make(map[string]struct{}),
	}
}

// Clone returns a copy. Copies share only what never changes.
func (t *Tree) Clone() *Tree {
	c := empty()
	c.zxid = t.zxid
	for p, n := range t.nodes {
		m := *n
		m.names = slices.Clone(n.names)
		m.index = make(map[string]int, len(n.names))
		for i, name := range m.names {
			m.index[name] = i
		}
		c.nodes[p] = &m
		c.note(&m)
	}
	return c
}

// Node returns the node of a path, or nil.
func (t *Tree) Node(p string) *Node { return t.nodes[p] }

// Read returns the node that a read of a path finds, or nil. ZooKeeper does not
// check the paths of reads, and the empty path finds the root.
func (t *Tree) Read(p string) *Node {
	if p == "" {
		p = "/"
	}
	return t.nodes[p]
}

// Below returns how many nodes are below a path that has one. ZooKeeper finds the
// root below the empty path.
func (t *Tree) Below(p string) int {
	switch p {
	case "/":
		return len(t.nodes) - 1
	case "":
		return len(t.nodes)
	}
	names := t.nodes[p].names
	count := len(names)
	for _, name := range names {
		count += t.Below(p + "/" + name)
	}
	return count
}

// Paths returns the paths of all nodes, in order.
func (t *Tree) Paths() []string { return slices.Sorted(maps.Keys(t.nodes)) }

// Ephemerals returns the paths of a session's nodes, in order.
func (t *Tree) Ephemerals(session int64) []string {
	return slices.Sorted(maps.Keys(t.ephemerals[session]))
}

// Owners returns the sessions that have nodes, in order.
func (t *Tree) Owners() []int64 { return slices.Sorted(maps.Keys(t.ephemerals)) }

// Len returns the number of nodes.
func (t *Tree) Len() int { return len(t.nodes) }

// Size returns the bytes of all data and the characters of all paths.
func (t *Tree) Size() int {
	size := 0
	for p, n := range t.nodes {
		size += utf8.RuneCountInString(p) + len(n.data)
	}
	return size
}

// SelfGoing reports whether there are nodes that may go by themselves:
// containers, and nodes with a time to live.
func (t *Tree) SelfGoing() bool { return len(t.selfGoing) > 0 }

// Due returns the paths of the nodes that go by themselves at a time, which is in
// milliseconds since 1970: containers that have lost their last child, and
// childless nodes whose time to live has passed.
func (t *Tree) Due(now int64) []string {
	var due []string
	for p := range t.selfGoing {
		n := t.nodes[p]
		over := n.kind == container && n.creates > 0 || n.kind == timed && now-n.mtime > n.ttl
		if over && len(n.names) == 0 {
			due = append(due, p)
		}
	}
	slices.Sort(due)
	return due
}

// Zxid returns the number of the last transaction.
func (t *Tree) Zxid() int64 { return t.zxid }

// SetZxid sets the number of the last transaction. A copy of the leader's tree
// needs it for a new epoch, which is not replayed.
func (t *Tree) SetZxid(zxid int64) { t.zxid = zxid }

// NewEpoch starts the count of transactions anew in the next epoch, as a new
// leader does.
func (t *Tree) NewEpoch() {
	const epoch = 1 << 32
	t.zxid = min(t.zxid/epoch+1, math.MaxInt32) * epoch
}

// note enters a node where nodes are found by how they end.
func (t *Tree) note(n *Node) {
	switch {
	case n.kind == ephemeral:
		if t.ephemerals[n.owner] == nil {
			t.ephemerals[n.owner] = make(map[string]struct{})
		}
		t.ephemerals[n.owner][n.path] = struct{}{}
	case n.kind.selfGoing():
		t.selfGoing[n.path] = struct{}{}
	}
}

// add puts a node below its parent, which exists.
func (t *Tree) add(n *Node) {
	t.nodes[n.path] = n
	t.note(n)
	if n.path == "/" {
		return
	}
	parent, name := t.nodes[Parent(n.path)], path.Base(n.path)
	if parent.index == nil {
		parent.index = make(map[string]int)
	}
	// The place among the others is arbitrary, so that a client that takes the
	// answer for sorted fails.
	parent.names = append(parent.names, name)
	last := len(parent.names) - 1
	at := int(uint32(parent.creates) * 2654435761 % uint32(last+1))
	parent.names[last], parent.names[at] = parent.names[at], name
	parent.index[parent.names[last]] = last
	parent.index[name] = at
}

// remove takes a node away.
func (t *Tree) remove(n *Node) {
	delete(t.nodes, n.path)
	delete(t.selfGoing, n.path)
	if own := t.ephemerals[n.owner]; n.kind == ephemeral {
		delete(own, n.path)
		if len(own) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
	parent, name := t.nodes[Parent(n.path)], path.Base(n.path)
	last := len(parent.names) - 1
	at := parent.index[name]
	parent.names[at] = parent.names[last]
	parent.index[parent.names[at]] = at
	parent.names = parent.names[:last]
	delete(parent.index, name)
}
