package zktest

import (
	"math"
	"path"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// nodeKind is what becomes of a node by itself.
type nodeKind int8

const (
	persistent nodeKind = iota
	ephemeral           // goes with its owner's session
	container           // goes when its last child has gone
	timed               // goes when it has no children and has not changed for its ttl
)

// znode is one node of a tree.
type znode struct {
	path string
	data []byte // never changed in place
	acl  []wire.ACL
	kind nodeKind

	owner int64 // the session of an ephemeral one
	ttl   int64 // milliseconds

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	creates             int32 // of children, ever; stays at its highest

	names []string       // of the children, in no order that means anything
	index map[string]int // of a child in names
}

func (n *znode) stat() wire.Stat {
	return wire.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.creates - int32(len(n.names)), Aversion: n.aversion,
		EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: int32(len(n.names)), Pzxid: n.pzxid,
	}
}

// tree is the nodes as of one transaction. Its owner guards it.
type tree struct {
	nodes      map[string]*znode
	zxid       int64                         // of the last transaction
	ephemerals map[int64]map[string]struct{} // paths by session
	selfGoing  map[string]struct{}           // containers and timed nodes
}

// anyone is the ACL of the nodes that are there from the start.
var anyone = []wire.ACL{{Perms: permAll, Scheme: "world", ID: "anyone"}}

func newTree() *tree {
	t := &tree{
		nodes:      make(map[string]*znode),
		ephemerals: make(map[int64]map[string]struct{}),
		selfGoing:  make(map[string]struct{}),
	}
	for _, p := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		t.add(&znode{path: p, data: []byte{}, acl: anyone})
	}
	t.nodes["/zookeeper/config"].acl = []wire.ACL{{Perms: permRead, Scheme: "world", ID: "anyone"}}
	return t
}

// clone returns a copy that shares nothing that changes.
func (t *tree) clone() *tree {
	c := newTree()
	c.zxid = t.zxid
	clear(c.nodes)
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

// at is the node that is read by a path, or nil: without a check of paths, the
// empty one is the root's too.
func (t *tree) at(p string) *znode {
	if p == "" {
		p = "/"
	}
	return t.nodes[p]
}

// note enters a node where nodes are found by what becomes of them.
func (t *tree) note(n *znode) {
	switch n.kind {
	case ephemeral:
		if t.ephemerals[n.owner] == nil {
			t.ephemerals[n.owner] = make(map[string]struct{})
		}
		t.ephemerals[n.owner][n.path] = struct{}{}
	case container, timed:
		t.selfGoing[n.path] = struct{}{}
	}
}

// parentOf is the path of the parent, of "/" itself.
func parentOf(p string) string { return path.Dir(p) }

// add puts a node below its parent, which is there.
func (t *tree) add(n *znode) {
	t.nodes[n.path] = n
	t.note(n)
	if n.path == "/" {
		return
	}
	parent, name := t.nodes[parentOf(n.path)], path.Base(n.path)
	if parent.index == nil {
		parent.index = make(map[string]int)
	}
	// Somewhere among the others: whoever takes the answer for sorted is to
	// notice.
	parent.names = append(parent.names, name)
	last := len(parent.names) - 1
	at := int(uint32(parent.creates) * 2654435761 % uint32(last+1))
	parent.names[last], parent.names[at] = parent.names[at], name
	parent.index[parent.names[last]] = last
	parent.index[name] = at
}

// remove takes a node away.
func (t *tree) remove(n *znode) {
	delete(t.nodes, n.path)
	delete(t.selfGoing, n.path)
	if own := t.ephemerals[n.owner]; n.kind == ephemeral {
		delete(own, n.path)
		if len(own) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
	parent, name := t.nodes[parentOf(n.path)], path.Base(n.path)
	last := len(parent.names) - 1
	at := parent.index[name]
	parent.names[at] = parent.names[last]
	parent.index[parent.names[at]] = at
	parent.names = parent.names[:last]
	delete(parent.index, name)
}

// change is one step of a transaction: what it does, not what was asked for, so
// that it comes out the same on every copy of the tree.
type change struct {
	op      wire.Op // create, delete, setData or setACL; setSequence
	path    string
	data    []byte
	acl     []wire.ACL // of a deletion: the node's, for those who watch it
	kind    nodeKind
	owner   int64
	ttl     int64
	creates int32
}

// setSequence stands among the operations for a parent's count set by hand.
const setSequence wire.Op = -100

// txn is one transaction. It changes no more once it is committed.
type txn struct {
	zxid    int64
	at      int64 // milliseconds since 1970
	changes []change
	ended   int64 // the session that is over with it, or 0
}

// apply makes a change, which is known to be possible, and returns what takes it
// back.
func (t *tree) apply(c *change, x *txn) (undo func()) {
	switch c.op {
	case wire.OpCreate:
		parent := t.nodes[parentOf(c.path)]
		creates, pzxid := parent.creates, parent.pzxid
		n := &znode{
			path: c.path, data: c.data, acl: c.acl, kind: c.kind, owner: c.owner, ttl: c.ttl,
			czxid: x.zxid, mzxid: x.zxid, pzxid: x.zxid, ctime: x.at, mtime: x.at,
		}
		if creates < math.MaxInt32 { // then neither is set, as in ZooKeeper
			parent.creates++
			parent.pzxid = x.zxid
		}
		t.add(n)
		return func() {
			t.remove(n)
			parent.creates, parent.pzxid = creates, pzxid
		}
	case wire.OpDelete:
		n, parent := t.nodes[c.path], t.nodes[parentOf(c.path)]
		pzxid := parent.pzxid
		parent.pzxid = x.zxid
		t.remove(n)
		return func() {
			t.add(n)
			parent.pzxid = pzxid
		}
	}
	n := t.nodes[c.path]
	before := *n
	switch c.op {
	case wire.OpSetData:
		n.data, n.mzxid, n.mtime = c.data, x.zxid, x.at
		n.version++
	case wire.OpSetACL:
		n.acl = c.acl
		n.aversion++
	case setSequence:
		n.creates = c.creates
	}
	// Its children may change in between, but are back by then.
	return func() {
		n.data, n.mzxid, n.mtime, n.version = before.data, before.mzxid, before.mtime, before.version
		n.acl, n.aversion, n.creates = before.acl, before.aversion, before.creates
	}
}
