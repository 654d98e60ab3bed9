package tree

import (
	"math"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Txn is one transaction. The zero value is not usable: use [Tree.Begin]. It
// must not be copied. It does not change after it was committed, and may then be
// read by any goroutine.
type Txn struct {
	Zxid    int64
	Changes []Change
	Ended   int64 // the session that ends with the transaction, or 0

	at int64 // milliseconds since 1970
}

// Change is one step of a transaction. It says what happens, not what was asked
// for, so it has the same effect on every copy of the tree. It is a plain value;
// copies share what their slices refer to.
type Change struct {
	Op   wire.Op    // create, delete, setData, setACL, reconfig or setSequence
	Path string     // of the node
	ACL  []wire.ACL // of a node that is created or deleted, or set by setACL

	data    []byte
	kind    kind
	owner   int64
	ttl     int64
	creates int32
}

// setSequence is the operation of a change that sets a parent's count by hand.
const setSequence wire.Op = -100

// Begin starts a transaction at a time in milliseconds since 1970. It has its
// zxid even if it changes nothing.
func (t *Tree) Begin(at int64) *Txn {
	t.zxid++
	return &Txn{Zxid: t.zxid, at: at}
}

// Remove deletes nodes, which must exist and have no children, in the order of
// the paths.
func (t *Tree) Remove(x *Txn, paths ...string) {
	for _, p := range paths {
		t.record(x, Change{Op: wire.OpDelete, Path: p, ACL: t.nodes[p].acl})
	}
}

// SetSequence makes n the number of the next sequential node below a path. It
// returns the transaction, which takes no zxid, or nil if there is no node.
func (t *Tree) SetSequence(p string, n int32) *Txn {
	if t.nodes[p] == nil {
		return nil
	}
	x := &Txn{Zxid: t.zxid}
	t.record(x, Change{Op: setSequence, Path: p, creates: n})
	return x
}

// Replay applies a transaction to a copy of the tree that it was made on.
func (t *Tree) Replay(x *Txn) {
	for i := range x.Changes {
		t.apply(&x.Changes[i], x)
	}
	t.zxid = max(t.zxid, x.Zxid)
}

// record makes a change, which is known to be possible, a part of a transaction,
// and returns what takes it back.
func (t *Tree) record(x *Txn, c Change) (undo func()) {
	undo = t.apply(&c, x)
	x.Changes = append(x.Changes, c)
	return undo
}

// apply makes a change, which is known to be possible, and returns what takes it
// back.
func (t *Tree) apply(c *Change, x *Txn) (undo func()) {
	switch c.Op {
	case wire.OpCreate:
		return t.applyCreate(c, x)
	case wire.OpDelete:
		return t.applyDelete(c, x)
	}
	return t.applySet(c, x)
}

func (t *Tree) applyCreate(c *Change, x *Txn) (undo func()) {
	parent := t.nodes[Parent(c.Path)]
	creates, pzxid := parent.creates, parent.pzxid
	n := &Node{
		path: c.Path, data: c.data, acl: c.ACL, kind: c.kind, owner: c.owner, ttl: c.ttl,
		czxid: x.Zxid, mzxid: x.Zxid, pzxid: x.Zxid, ctime: x.at, mtime: x.at,
	}
	if creates < math.MaxInt32 { // then neither is set, as in ZooKeeper
		parent.creates++
		parent.pzxid = x.Zxid
	}
	t.add(n)
	return func() {
		t.remove(n)
		parent.creates, parent.pzxid = creates, pzxid
	}
}

func (t *Tree) applyDelete(c *Change, x *Txn) (undo func()) {
	n, parent := t.nodes[c.Path], t.nodes[Parent(c.Path)]
	pzxid := parent.pzxid
	parent.pzxid = x.Zxid
	t.remove(n)
	return func() {
		t.add(n)
		parent.pzxid = pzxid
	}
}

// applySet is for the changes of a node that exists.
func (t *Tree) applySet(c *Change, x *Txn) (undo func()) {
	n := t.nodes[c.Path]
	before := *n
	switch c.Op {
	case wire.OpSetData:
		n.data, n.mzxid, n.mtime = c.data, x.Zxid, x.at
		n.version++
	case wire.OpReconfig:
		n.data, n.mzxid, n.mtime = c.data, x.Zxid, x.at
		n.version = -1 // whatever a client has set it to
	case wire.OpSetACL:
		n.acl = c.ACL
		n.aversion++
	case setSequence:
		n.creates = c.creates
	}
	// Later changes of its children are taken back first.
	return func() {
		n.data, n.mzxid, n.mtime, n.version = before.data, before.mzxid, before.mtime, before.version
		n.acl, n.aversion, n.creates = before.acl, before.aversion, before.creates
	}
}
