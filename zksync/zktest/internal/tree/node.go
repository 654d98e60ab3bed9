package tree

import (
	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// kind says when a node goes by itself.
type kind int8

const (
	persistent kind = iota
	ephemeral       // goes with its owner's session
	container       // goes when its last child has gone
	timed           // goes when it has no children and has not changed for its ttl
)

// selfGoing reports whether the server has to look for nodes of this kind that
// are due.
func (k kind) selfGoing() bool { return k == container || k == timed }

// Node is one node of a tree. The zero value is not usable, and a node must not
// be copied. The owner of the tree guards it.
type Node struct {
	path string
	data []byte // never changed in place
	acl  []wire.ACL
	kind kind

	owner int64 // the session of an ephemeral one
	ttl   int64 // milliseconds

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	creates             int32 // of children, ever; stays at its highest

	names []string       // of the children, in no order that means anything
	index map[string]int // of a child in names
}

// Stat returns what ZooKeeper tells about the node.
func (n *Node) Stat() wire.Stat {
	return wire.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.creates - int32(len(n.names)), Aversion: n.aversion,
		EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: int32(len(n.names)), Pzxid: n.pzxid,
	}
}

// Data returns the node's data, which the caller must not change.
func (n *Node) Data() []byte { return n.data }

// ACL returns the node's ACL, which the caller must not change.
func (n *Node) ACL() []wire.ACL { return n.acl }

// Names returns the names of the children in no useful order. The caller must
// not change them, and they are valid until the tree changes.
func (n *Node) Names() []string { return n.names }
