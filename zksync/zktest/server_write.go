package zktest

import (
	"fmt"
	"strings"

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

// outcome is what one operation came to.
type outcome struct {
	op   wire.Op // what it is called in the answer of a multi
	code wire.Code
	path string
	stat wire.Stat
}

// write1 carries out a request that is a transaction, and writes the body of its
// answer. srv.mu is held.
func (c *conn) write1(r *request, e *wire.Encoder) (*txn, wire.Code) {
	s := c.srv
	x := s.begin()
	switch r.op {
	case wire.OpMulti:
		return x, c.multi(x, r.ops, e)
	case wire.OpReconfig:
		s.commit(x, c)
		return x, wire.CodeReconfigDisabled
	}
	out, _ := c.step(x, r)
	s.commit(x, c)
	switch r.op {
	case wire.OpCreate:
		e.String(out.path)
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		e.String(out.path)
		e.Stat(out.stat)
	case wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		e.Stat(out.stat)
	}
	return x, out.code
}

// multi carries out all operations, or none. What happened to each is in the
// body, unless one was such that the request as a whole has no meaning.
func (c *conn) multi(x *txn, ops []request, e *wire.Encoder) wire.Code {
	outs := make([]outcome, len(ops))
	var undo []func()
	failed, senseless := false, false
	for i := range ops {
		if failed {
			outs[i].code = wire.CodeRuntimeInconsistency
			continue
		}
		var back func()
		outs[i], back = c.step(x, &ops[i])
		if back != nil {
			undo = append(undo, back)
		}
		failed = outs[i].code != wire.CodeOK
		senseless = outs[i].code == wire.CodeMarshallingError
	}
	if failed {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
		x.changes = nil
	}
	c.srv.commit(x, c)
	if senseless {
		return wire.CodeMarshallingError
	}
	for _, out := range outs {
		if failed {
			e.MultiHeader(wire.MultiHeader{Type: wire.OpError, Err: out.code})
			e.Int32(int32(out.code))
			continue
		}
		e.MultiHeader(wire.MultiHeader{Type: out.op})
		switch out.op {
		case wire.OpCreate:
			e.String(out.path)
		case wire.OpCreate2:
			e.String(out.path)
			e.Stat(out.stat)
		case wire.OpSetData:
			e.Stat(out.stat)
		}
	}
	e.MultiEnd()
	return wire.CodeOK
}

// step checks one operation and applies it to the leader's tree. What takes it
// back is nil when nothing was changed.
func (c *conn) step(x *txn, r *request) (out outcome, undo func()) {
	t := c.srv.tree
	out.op = r.op
	var ch change
	switch r.op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		ch, out.code = c.checkCreate(r)
		out.op = wire.OpCreate
		if ch.kind == container || ch.kind == timed {
			out.op = wire.OpCreate2
		}
	case wire.OpDelete:
		ch, out.code = c.checkDelete(r)
	case wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		ch, out.code = c.checkSet(r)
	}
	if out.code != wire.CodeOK {
		return out, nil
	}
	out.path = ch.path
	if r.op != wire.OpCheck {
		undo = t.apply(&ch, x)
		x.changes = append(x.changes, ch)
	}
	if n := t.nodes[ch.path]; n != nil {
		out.stat = n.stat()
	}
	if ch.kind == container || ch.kind == timed {
		c.srv.reapLater()
	}
	return out, undo
}

// splitPath is the path of the parent as ZooKeeper takes it, before it has
// looked at the rest.
func splitPath(p string) (string, bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 || strings.IndexByte(p, 0) >= 0 {
		return "", false
	}
	if i == 0 {
		return "/", true
	}
	return p[:i], true
}

func (c *conn) checkCreate(r *request) (change, wire.Code) {
	t := c.srv.tree
	ch := change{op: wire.OpCreate, path: r.path, data: r.data}
	sequential := false
	switch r.flags {
	case 0, flagSequential:
		sequential = r.flags == flagSequential
	case flagEphemeral, flagEphSequential:
		sequential = r.flags == flagEphSequential
		ch.kind, ch.owner = ephemeral, c.session
	case flagContainer:
		// Asked for by any other request it is a plain node: the kind goes by
		// the operation, which within a multi is read from the flags.
		if r.op == wire.OpCreateContainer || r.part {
			ch.kind = container
		}
	case flagTTL, flagSeqTTL:
		sequential = r.flags == flagSeqTTL
		if r.part && r.op != wire.OpCreateTTL {
			return ch, wire.CodeMarshallingError // there would have to be a time to live
		}
		if r.ttl <= 0 || r.ttl > maxTTL {
			return ch, wire.CodeBadArguments
		}
		ch.kind, ch.ttl = timed, r.ttl
	default:
		return ch, wire.CodeBadArguments
	}
	switch {
	case r.part: // goes by its flags alone
	case r.op == wire.OpCreateTTL && ch.kind != timed && r.ttl >= 0:
		return ch, wire.CodeBadArguments
	case r.op == wire.OpCreateContainer: // goes by the operation, whatever the flags
		ch.kind, ch.owner = container, 0
	}
	parentPath, ok := splitPath(r.path)
	if !ok {
		return ch, wire.CodeBadArguments
	}
	if ch.acl, ok = c.fixACL(r.acl); !ok {
		return ch, wire.CodeInvalidACL
	}
	parent := t.nodes[parentPath]
	if parent == nil {
		return ch, wire.CodeNoNode
	}
	if !c.may(permCreate, parent.acl) {
		return ch, wire.CodeNoAuth
	}
	if sequential {
		ch.path += fmt.Sprintf("%010d", parent.creates)
	}
	switch {
	case !validPath(ch.path):
		return ch, wire.CodeBadArguments
	case t.nodes[ch.path] != nil:
		return ch, wire.CodeNodeExists
	case parent.kind == ephemeral:
		return ch, wire.CodeNoChildrenForEphemerals
	}
	return ch, wire.CodeOK
}

func (c *conn) checkDelete(r *request) (change, wire.Code) {
	t := c.srv.tree
	ch := change{op: wire.OpDelete, path: r.path}
	parentPath, ok := splitPath(r.path)
	switch r.path {
	case "/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota":
		ok = false
	}
	if !ok {
		return ch, wire.CodeBadArguments
	}
	parent, n := t.nodes[parentPath], t.nodes[r.path]
	switch {
	case parent == nil:
		return ch, wire.CodeNoNode
	case !c.may(permDelete, parent.acl):
		return ch, wire.CodeNoAuth
	case n == nil:
		return ch, wire.CodeNoNode
	case r.version != -1 && r.version != n.version:
		return ch, wire.CodeBadVersion
	case len(n.names) > 0:
		return ch, wire.CodeNotEmpty
	}
	ch.acl = n.acl
	return ch, wire.CodeOK
}

// checkSet is for what concerns a node alone: setData, setACL, check.
func (c *conn) checkSet(r *request) (change, wire.Code) {
	ch := change{op: r.op, path: r.path, data: r.data}
	if !validPath(r.path) {
		return ch, wire.CodeBadArguments
	}
	perm := permRead
	switch r.op {
	case wire.OpSetData:
		perm = permWrite
	case wire.OpSetACL:
		perm = permAdmin
		var ok bool
		if ch.acl, ok = c.fixACL(r.acl); !ok {
			return ch, wire.CodeInvalidACL
		}
	}
	n := c.srv.tree.nodes[r.path]
	if n == nil {
		return ch, wire.CodeNoNode
	}
	if !c.may(perm, n.acl) {
		return ch, wire.CodeNoAuth
	}
	version := n.version
	if r.op == wire.OpSetACL {
		version = n.aversion
	}
	if r.version != -1 && r.version != version {
		return ch, wire.CodeBadVersion
	}
	return ch, wire.CodeOK
}

// validPath is ZooKeeper's own test of a path.
func validPath(p string) bool {
	if p == "/" {
		return true
	}
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") {
		return false
	}
	for name := range strings.SplitSeq(p[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	for _, r := range p {
		// What is beyond 16 bits Java sees as surrogates.
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return false
		}
	}
	return true
}
