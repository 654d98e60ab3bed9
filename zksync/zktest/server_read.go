package zktest

import (
	"slices"
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
		if r.Data == nil {
			e.Buffer(nil)
		} else {
			e.String(encoded(r.Path))
		}
	case wire.OpMultiRead:
		return c.multiRead(r, e)
	case wire.OpGetEphemerals:
		c.ephemerals(r, e)
	case wire.OpGetAllChildrenNumber:
		return c.countBelow(r, e)
	case wire.OpWhoAmI:
		e.ClientInfos(c.ids.Infos())
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
		c.watchData(r.Path, watchOnce)
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
	watch := c.watchChildren
	switch r.Op {
	case wire.OpGetData:
		watch = c.watchData
		e.Buffer(n.Data())
		e.Stat(n.Stat())
	case wire.OpGetChildren:
		e.Strings(n.Names())
	case wire.OpGetChildren2:
		e.Strings(n.Names())
		e.Stat(n.Stat())
	}
	if r.watch {
		watch(r.Path, watchOnce)
	}
	return wire.CodeOK
}

// multiRead answers each read by itself: an error of one is no error of the others.
func (c *conn) multiRead(r *request, e *wire.Encoder) wire.Code {
	defer e.MultiEnd()
	for i := range r.ops {
		op := &r.ops[i]
		if !isRead(op.Op) {
			return wire.CodeMarshallingError
		}
		n, code := c.readable(op.Path, tree.PermRead)
		if code != wire.CodeOK {
			e.MultiHeader(wire.MultiHeader{Type: wire.OpError, Err: code})
			e.Int32(int32(code))
			continue
		}
		e.MultiHeader(wire.MultiHeader{Type: op.Op})
		if op.Op == wire.OpGetChildren {
			e.Strings(n.Names())
			continue
		}
		e.Buffer(n.Data())
		e.Stat(n.Stat())
	}
	return wire.CodeOK
}

// ephemerals answers with the nodes of the client's session whose paths begin as
// it asks. A prefix that is blank but for one slash means all.
func (c *conn) ephemerals(r *request, e *wire.Encoder) {
	list := c.member.view.Ephemerals(c.session)
	prefix := r.Path
	// Java trims all that is not above the space.
	if s := strings.TrimFunc(prefix, func(r rune) bool { return r <= ' ' }); s == "" || s == "/" {
		prefix = ""
	}
	e.Strings(slices.DeleteFunc(list, func(p string) bool { return !strings.HasPrefix(p, prefix) }))
}

func (c *conn) countBelow(r *request, e *wire.Encoder) wire.Code {
	if _, code := c.readable(r.Path, tree.PermRead); code != wire.CodeOK {
		return code
	}
	e.Int32(int32(c.member.view.Below(r.Path)))
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
