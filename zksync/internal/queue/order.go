package queue

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Place is a queue to stand in, and the kind of node to stand there with.
type Place struct {
	Parent string // the lock's path
	Kind   znode.Kind
	Rule   Rule

	// Foreign describes the nodes of other recipes here, which are in line, too.
	Foreign []znode.Foreign

	Weight, Limit int64 // of a permit
	Kazoo         bool  // a second node under kazoo's name, beside that of the place before
}

// prefix returns the name of the place's node without the sequence.
func (p Place) prefix(g znode.GUID) string {
	switch {
	case p.Kind == znode.Permit:
		return znode.PermitPrefix(g, p.Weight, p.Limit)
	case p.Kazoo:
		return znode.KazooPrefix(g)
	}
	return znode.Prefix(p.Kind, g)
}

// Order says where to stand, and how. One transaction makes all nodes of an order.
type Order struct {
	Places []Place
	Data   []byte
	ACL    []zk.ACL
	Try    bool    // don't wait: ErrBusy
	Of     any     // identifies the lock; entries of one lock don't compete: see Renew
	Fence  bool    // read the fence, too: one more request, beside the listing
	Census *Census // nil: every line is listed
	// Blocked, if not nil, gets the node that the entry waits for, each time that
	// changes.
	Blocked func(Blocker)
	// Placed, if not nil, is called each time that the nodes have been made. It must
	// not block.
	Placed func()
	// Sent, if not nil, is called when the request that makes the only node has been
	// sent, if the connection reports that. It must not block.
	Sent func()
	// After, if not nil, waits until the entry may get in line: after the calls that
	// came before.
	After func(ctx context.Context)
	// Strict refuses a line with permits of another limit before the entry: ErrLimit.
	Strict bool
	// Strange, if not nil, gets the children that are not in line and have numbers
	// like sequential nodes, each time that there are any. It must not block.
	Strange func(parent string, names []string)
	// Stays, if not nil, gets a node before ours that belongs to no session, so that
	// ZooKeeper never removes it. It must not block.
	Stays func(node string)
	// Others, if not nil, is called for the first waiting permit each time the line has
	// changed. wait reports whether a permit of another lock or session waits. It must
	// not block.
	Others func(wait bool)
	// Limits, if not nil, is called when limits before the entry differ from its own.
	Limits func(smallest int64)
}

// Blocker is the node that an entry waits for.
type Blocker struct {
	Path  string
	Data  []byte
	Stat  zk.Stat
	Place int  // our position in line: 1 is the next
	Local bool // the node is of our own session
}

// turn reports whether it is the turn of the node at own, and nothing else is to be said of
// the line.
func (p Place) turn(line []znode.Name, own int) bool {
	if znode.Exhausted(line, own) || !p.Rule(line, own).Held {
		return false
	}
	return p.Kind != znode.Permit || !slices.ContainsFunc(line, func(n znode.Name) bool {
		return n.Kind != znode.Permit || n.Limit != p.Limit
	})
}
