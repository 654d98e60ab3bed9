package zktest

import (
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// carryOutRead carries out a request that is no transaction, and writes the body
// of its answer. srv.mu is held.
func (c *conn) carryOutRead(r *request, e *wire.Encoder) wire.Code {
	switch r.Op {
	case wire.OpExists:
		return c.exists(r, e)
	case wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		return c.get(r, e)
	case wire.OpGetACL:
		return c.getACL(r, e)
	case wire.OpSync:
		e.String(r.Path)
	case wire.OpSetWatches, wire.OpSetWatches2:
		c.setWatches(r)
	case wire.OpAddWatch:
		return c.addWatch(r, e)
	case wire.OpCheckWatches, wire.OpRemoveWatches:
		return c.watches(r, r.Op == wire.OpRemoveWatches)
	}
	return wire.CodeOK
}

func (c *conn) exists(r *request, e *wire.Encoder) wire.Code {
	if strings.IndexByte(r.Path, 0) >= 0 { // no other read rejects it
		return wire.CodeBadArguments
	}
	n := c.member.view.Read(r.Path)
	if n != nil && !c.ids.May(tree.PermRead, n.ACL()) {
		return wire.CodeNoAuth
	}
	if r.watch { // for a node that is not there yet too
		c.member.data.add(r.Path, c, watchOnce)
	}
	if n == nil {
		return wire.CodeNoNode
	}
	e.Stat(n.Stat())
	return wire.CodeOK
}

// get answers getData, getChildren and getChildren2.
func (c *conn) get(r *request, e *wire.Encoder) wire.Code {
	n, code := c.readable(r.Path, tree.PermRead)
	if code != wire.CodeOK {
		return code
	}
	table := c.member.child
	switch r.Op {
	case wire.OpGetData:
		table = c.member.data
		e.Buffer(n.Data())
		e.Stat(n.Stat())
	case wire.OpGetChildren:
		e.Strings(n.Names())
	case wire.OpGetChildren2:
		e.Strings(n.Names())
		e.Stat(n.Stat())
	}
	if r.watch {
		table.add(r.Path, c, watchOnce)
	}
	return wire.CodeOK
}

func (c *conn) getACL(r *request, e *wire.Encoder) wire.Code {
	n, code := c.readable(r.Path, tree.PermRead|tree.PermAdmin)
	if code != wire.CodeOK {
		return code
	}
	e.ACLs(c.ids.Shown(n.ACL()))
	e.Stat(n.Stat())
	return wire.CodeOK
}

// readable returns a node on which the client has one of the permissions, or the
// error.
func (c *conn) readable(path string, perms int32) (*tree.Node, wire.Code) {
	n := c.member.view.Read(path)
	switch {
	case n == nil:
		return nil, wire.CodeNoNode
	case !c.ids.May(perms, n.ACL()):
		return nil, wire.CodeNoAuth
	}
	return n, wire.CodeOK
}

func (c *conn) addWatch(r *request, e *wire.Encoder) wire.Code {
	switch r.kind {
	case 0:
		c.watchOn(r.Path, watchOn)
	case 1:
		c.watchOn(r.Path, watchRecursive)
	default:
		return wire.CodeMarshallingError
	}
	e.Int32(0)
	return wire.CodeOK
}
