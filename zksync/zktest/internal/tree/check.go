package tree

import (
	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

func (t *Tree) checkDelete(r *Request, who Client) (Change, wire.Code) {
	ch := Change{Op: wire.OpDelete, Path: r.Path}
	parentPath, ok := splitPath(r.Path)
	switch r.Path {
	case "/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota":
		ok = false
	}
	if !ok {
		return ch, wire.CodeBadArguments
	}
	parent, n := t.nodes[parentPath], t.nodes[r.Path]
	switch {
	case parent == nil:
		return ch, wire.CodeNoNode
	case !who.IDs.May(PermDelete, parent.acl):
		return ch, wire.CodeNoAuth
	case n == nil:
		return ch, wire.CodeNoNode
	case r.Version != -1 && r.Version != n.version:
		return ch, wire.CodeBadVersion
	case len(n.names) > 0:
		return ch, wire.CodeNotEmpty
	}
	ch.ACL = n.acl
	return ch, wire.CodeOK
}

// checkSet is for what concerns a node alone: setData, setACL, check.
func (t *Tree) checkSet(r *Request, who Client) (Change, wire.Code) {
	ch := Change{Op: r.Op, Path: r.Path, data: r.Data}
	if !validPath(r.Path) {
		return ch, wire.CodeBadArguments
	}
	perm := PermRead
	switch r.Op {
	case wire.OpSetData:
		perm = PermWrite
	case wire.OpSetACL:
		perm = PermAdmin
		var ok bool
		if ch.ACL, ok = who.fix(r.ACL); !ok {
			return ch, wire.CodeInvalidACL
		}
	}
	n := t.nodes[r.Path]
	if n == nil {
		return ch, wire.CodeNoNode
	}
	if !who.IDs.May(perm, n.acl) {
		return ch, wire.CodeNoAuth
	}
	version := n.version
	if r.Op == wire.OpSetACL {
		version = n.aversion
	}
	if r.Version != -1 && r.Version != version {
		return ch, wire.CodeBadVersion
	}
	return ch, wire.CodeOK
}
