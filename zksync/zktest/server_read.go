package zktest

import (
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// answer carries out a request that is no transaction, and writes the body of
// its answer. srv.mu is held.
func (c *conn) answer(r *request, e *wire.Encoder) wire.Code {
	d := c.door
	n := d.view.at(r.path)
	switch r.op {
	case wire.OpExists:
		if strings.IndexByte(r.path, 0) >= 0 { // which no other read minds
			return wire.CodeBadArguments
		}
		if n != nil && !c.may(permRead, n.acl) {
			return wire.CodeNoAuth
		}
		if r.watch { // for a node that is not there yet too
			d.data.add(r.path, c, watchOnce)
		}
		if n == nil {
			return wire.CodeNoNode
		}
		e.Stat(n.stat())
	case wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		if n == nil {
			return wire.CodeNoNode
		}
		if !c.may(permRead, n.acl) {
			return wire.CodeNoAuth
		}
		table := d.child
		switch r.op {
		case wire.OpGetData:
			table = d.data
			e.Buffer(n.data)
			e.Stat(n.stat())
		case wire.OpGetChildren:
			e.Strings(n.names)
		default:
			e.Strings(n.names)
			e.Stat(n.stat())
		}
		if r.watch {
			table.add(r.path, c, watchOnce)
		}
	case wire.OpGetACL:
		if n == nil {
			return wire.CodeNoNode
		}
		if !c.may(permRead|permAdmin, n.acl) {
			return wire.CodeNoAuth
		}
		e.ACLs(c.shownACL(n.acl))
		e.Stat(n.stat())
	case wire.OpSync:
		e.String(r.path)
	case wire.OpSetWatches, wire.OpSetWatches2:
		c.setWatches(r)
	case wire.OpAddWatch:
		switch r.kind {
		case 0:
			c.watchOn(r.path, watchOn)
		case 1:
			c.watchOn(r.path, watchRecursive)
		default:
			return wire.CodeMarshallingError
		}
		e.Int32(0)
	case wire.OpCheckWatches, wire.OpRemoveWatches:
		return c.watches(r, r.op == wire.OpRemoveWatches)
	}
	return wire.CodeOK
}
