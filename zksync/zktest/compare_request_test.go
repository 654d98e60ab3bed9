package zktest_test

import (
	"fmt"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// compareRequest is one request. Which fields count depends on op.
type compareRequest struct {
	op      wire.Op
	path    string
	null    bool   // the path is null
	data    []byte // nil is the null buffer; the password of an auth
	acl     []wire.ACL
	nullACL bool
	flags   int32
	ttl     int64
	version int32
	watch   bool
	mode    int32 // of addWatch, the type of check- and removeWatches, or the timeout of createSession
	since   int64 // of setWatches, counted from the sequence's first transaction
	lists   [][]string
	ops     []compareRequest // of a multi or multiRead
	scheme  string           // of an auth
	sasl    *saslResponse    // of a sasl; nil: it has data
	cut     int              // so many bytes are missing at the end
}

func (r compareRequest) String() string {
	switch r.op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		acl := fmt.Sprint(r.acl)
		if r.nullACL {
			acl = "null"
		}
		return fmt.Sprintf("%v(%q, %s, acl %s, flags %d, ttl %d)%s", r.op, r.path, r.dataText(), acl, r.flags, r.ttl, r.cutText())
	case wire.OpDelete, wire.OpCheck:
		return fmt.Sprintf("%v(%q, %d)%s", r.op, r.path, r.version, r.cutText())
	case wire.OpSetData:
		return fmt.Sprintf("%v(%q, %s, %d)%s", r.op, r.path, r.dataText(), r.version, r.cutText())
	case wire.OpSetACL:
		return fmt.Sprintf("%v(%q, %v null=%t, %d)%s", r.op, r.path, r.acl, r.nullACL, r.version, r.cutText())
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		return fmt.Sprintf("%v(%q, watch %t)%s", r.op, r.path, r.watch, r.cutText())
	case wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches:
		return fmt.Sprintf("%v(%q, %d)%s", r.op, r.path, r.mode, r.cutText())
	case wire.OpSetWatches, wire.OpSetWatches2:
		return fmt.Sprintf("%v(+%d, %q)%s", r.op, r.since, r.lists, r.cutText())
	case wire.OpAuth:
		return fmt.Sprintf("%v(%q, %q)%s", r.op, r.scheme, r.data, r.cutText())
	case wire.OpSASL:
		return fmt.Sprintf("%v(%s)%s", r.op, r.saslText(), r.cutText())
	case wire.OpCreateSession:
		return fmt.Sprintf("%v(%d)%s", r.op, r.mode, r.cutText())
	case wire.OpMulti, wire.OpMultiRead:
		list := make([]string, len(r.ops))
		for i, op := range r.ops {
			list[i] = op.String()
		}
		return fmt.Sprintf("%v(%s)%s", r.op, strings.Join(list, "; "), r.cutText())
	}
	return fmt.Sprintf("%v(%q)%s", r.op, r.path, r.cutText())
}

func (r compareRequest) dataText() string {
	switch {
	case r.data == nil:
		return "null"
	case len(r.data) > 20:
		return fmt.Sprintf("%d bytes", len(r.data))
	}
	return fmt.Sprintf("%q", r.data)
}

// cutText is what a request has wrong.
func (r compareRequest) cutText() string {
	text := ""
	if r.null {
		text = " with a null path"
	}
	if r.cut > 0 {
		text += fmt.Sprintf(" less %d bytes", r.cut)
	}
	return text
}

// appendBody appends the request without its header; base is the zxid that
// since counts from.
func (r compareRequest) appendBody(dst []byte, base int64) []byte {
	e := wire.Encoder{Buf: dst}
	switch r.op {
	case wire.OpAuth:
		e.Int32(0)
		e.String(r.scheme)
		e.Buffer(r.data)
		return e.Buf
	case wire.OpSetWatches, wire.OpSetWatches2:
		e.Int64(base + r.since)
		for _, list := range r.lists {
			e.Strings(list)
		}
		return e.Buf
	case wire.OpMulti, wire.OpMultiRead:
		for _, op := range r.ops {
			e.MultiHeader(wire.MultiHeader{Type: op.op, Err: -1})
			e.Buf = op.appendBody(e.Buf, base)
		}
		e.MultiEnd()
		return e.Buf
	case wire.OpSASL:
		e.Buffer(r.data)
		return e.Buf
	case wire.OpCreateSession:
		e.Int32(r.mode)
		return e.Buf
	case wire.OpClose, wire.OpPing, wire.OpWhoAmI:
		return e.Buf
	}
	if r.null {
		e.Int32(-1)
	} else {
		e.String(r.path)
	}
	switch r.op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		e.Buffer(r.data)
		r.appendACL(&e)
		e.Int32(r.flags)
		if r.op == wire.OpCreateTTL {
			e.Int64(r.ttl)
		}
	case wire.OpDelete, wire.OpCheck:
		e.Int32(r.version)
	case wire.OpSetData:
		e.Buffer(r.data)
		e.Int32(r.version)
	case wire.OpSetACL:
		r.appendACL(&e)
		e.Int32(r.version)
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		e.Bool(r.watch)
	case wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches:
		e.Int32(r.mode)
	}
	return e.Buf
}

func (r compareRequest) appendACL(e *wire.Encoder) {
	if r.nullACL {
		e.Int32(-1)
		return
	}
	e.ACLs(r.acl)
}

func (r compareRequest) payload(xid int32, base int64) []byte {
	p := wire.RequestHeader{Xid: xid, Op: r.op}.Append(nil)
	body := r.appendBody(nil, base)
	return append(p, body[:max(0, len(body)-r.cut)]...)
}
