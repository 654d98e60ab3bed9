package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Place is a queue to stand in, and how.
type Place struct {
	Parent string // the lock's path
	Kind   znode.Kind
	Rule   Rule

	// Foreign is how other recipes name their nodes here, which are in line, too.
	Foreign []znode.Foreign

	Weight, Limit int64 // of a permit
	Kazoo         bool  // under kazoo's name, beside the place before this one
}

// prefix is the name of the place's node, to which the sequence is added.
func (p Place) prefix(g znode.GUID) string {
	switch {
	case p.Kind == znode.Permit:
		return znode.PermitPrefix(g, p.Weight, p.Limit)
	case p.Kazoo:
		return znode.KazooPrefix(g)
	}
	return znode.Prefix(p.Kind, g)
}

// Order says where to stand, as what, and how. All nodes of an order are made
// in one transaction.
type Order struct {
	Places []Place
	Data   []byte
	ACL    []zk.ACL
	Try    bool // don't wait: ErrBusy
	Of     any  // what the entry is of: those of the same are not in each other's way, see Renew
	Fence  bool // the fence is wanted: one more read, beside the listing
	// Blocked is told whom the entry waits for, each time that changes.
	Blocked func(Blocker)
	// Placed, if not nil, is called whenever the nodes have come to stand. It
	// must not block.
	Placed func()
	// Sent, if not nil, is called when the request that makes the only node has been
	// sent, where that can be told. It must not block.
	Sent func()
	// After, if not nil, returns when it is time to get in line: when those who
	// came before have.
	After func(ctx context.Context)
	// Strict refuses permits of another limit before the entry: ErrLimit.
	Strict bool
	// Strange, if not nil, is told of children that are not in line and have
	// numbers as sequential nodes do, each time that there are any. It must not
	// block.
	Strange func(parent string, names []string)
	// Stays, if not nil, is told of a node before ours that belongs to no session,
	// so that ZooKeeper never removes it. It must not block.
	Stays func(node string)
	// Others, if not nil, is told by the first permit that waits, each time the line
	// has changed, whether any waits that is not of what the entry is of. It must not
	// block.
	Others func(wait bool)
	// Limits, if not nil, is told when the limits before the entry differ.
	Limits func(smallest int64)
}

// Blocker is the node an entry waits for.
type Blocker struct {
	Path  string
	Data  []byte
	Stat  zk.Stat
	Place int  // our place in line: 1 is the next
	Local bool // the node is of our own session
}
