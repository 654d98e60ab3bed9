package tree

import (
	"fmt"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// The flags of a create.
const (
	flagEphemeral     int32 = 1
	flagSequential    int32 = 2
	flagEphSequential int32 = 3
	flagContainer     int32 = 4
	flagTTL           int32 = 5
	flagSeqTTL        int32 = 6

	maxTTL = 1<<40 - 1 // milliseconds
)

// checkCreate looks at the request by itself, at the parent, and at the new name,
// in this order: the first objection is what ZooKeeper answers.
func (t *Tree) checkCreate(r *Request, who Client) (Change, wire.Code) {
	ch := Change{Op: wire.OpCreate, Path: r.Path, data: r.Data}
	var code wire.Code
	if ch.kind, code = r.kind(); code != wire.CodeOK {
		return ch, code
	}
	switch ch.kind {
	case ephemeral:
		ch.owner = who.Session
	case timed:
		ch.ttl = r.TTL
	}
	parentPath, ok := splitPath(r.Path)
	if !ok {
		return ch, wire.CodeBadArguments
	}
	if ch.ACL, ok = who.fix(r.ACL); !ok {
		return ch, wire.CodeInvalidACL
	}
	parent := t.nodes[parentPath]
	if parent == nil {
		return ch, wire.CodeNoNode
	}
	if !who.IDs.May(PermCreate, parent.acl) {
		return ch, wire.CodeNoAuth
	}
	if r.sequential() {
		ch.Path += fmt.Sprintf("%010d", parent.creates)
	}
	return ch, t.checkChild(parent, ch.Path)
}

// checkChild returns whether a node may have a child of this path, which is
// complete.
func (t *Tree) checkChild(parent *Node, p string) wire.Code {
	switch {
	case !validPath(p):
		return wire.CodeBadArguments
	case t.nodes[p] != nil:
		return wire.CodeNodeExists
	case parent.kind == ephemeral:
		return wire.CodeNoChildrenForEphemerals
	}
	return wire.CodeOK
}

func (r *Request) sequential() bool {
	return r.Flags == flagSequential || r.Flags == flagEphSequential || r.Flags == flagSeqTTL
}

// kind returns the kind of node that a create asks for. It goes by the flags, and
// outside a multi by the operation as well.
func (r *Request) kind() (kind, wire.Code) {
	k, code := r.kindByFlags()
	switch {
	case code != wire.CodeOK || r.Part:
		return k, code
	case r.Op == wire.OpCreateTTL && k != timed && r.TTL >= 0:
		return k, wire.CodeBadArguments
	case r.Op == wire.OpCreateContainer: // whatever the flags
		return container, wire.CodeOK
	}
	return k, wire.CodeOK
}

func (r *Request) kindByFlags() (kind, wire.Code) {
	switch r.Flags {
	case 0, flagSequential:
		return persistent, wire.CodeOK
	case flagEphemeral, flagEphSequential:
		return ephemeral, wire.CodeOK
	case flagContainer:
		// Only createContainer makes a container; a plain create with this flag
		// makes a plain node. ZooKeeper reads the operation of a part from its
		// flags.
		if r.Op == wire.OpCreateContainer || r.Part {
			return container, wire.CodeOK
		}
		return persistent, wire.CodeOK
	case flagTTL, flagSeqTTL:
		return timed, r.checkTTL()
	}
	return persistent, wire.CodeBadArguments
}

// checkTTL is for a create whose flags ask for a time to live.
func (r *Request) checkTTL() wire.Code {
	if r.Part && r.Op != wire.OpCreateTTL {
		return wire.CodeMarshallingError // a time to live is missing
	}
	if r.TTL <= 0 || r.TTL > maxTTL {
		return wire.CodeBadArguments
	}
	return wire.CodeOK
}
