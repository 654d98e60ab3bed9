package tree

import (
	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Request is one operation that creates, deletes, sets data, sets an ACL or
// checks a version. Which fields count depends on Op. It is a plain value; copies
// share what their slices refer to.
type Request struct {
	Op      wire.Op
	Path    string
	Data    []byte
	ACL     []wire.ACL
	Flags   int32 // of a create
	TTL     int64 // of a create, in milliseconds; -1 if the request has none
	Version int32 // expected; -1 is any
	Part    bool  // it is a part of a multi
}

// Client says who makes a request. It is a plain value; copies share IDs.
type Client struct {
	Session int64
	IDs     Identities
	SASL    bool // its ACLs may have the scheme "sasl"
}

// Outcome is what one operation came to. It is a plain value.
type Outcome struct {
	Op   wire.Op // its name in the answer of a multi
	Code wire.Code
	Path string
	Stat wire.Stat
}

// Write checks one operation, and applies it as a part of the transaction.
func (t *Tree) Write(x *Txn, r *Request, who Client) Outcome {
	out, _ := t.write(x, r, who)
	return out
}

// Multi carries out all operations, or none. The code is not OK if one of them
// was such that the request as a whole has no meaning; otherwise each outcome
// says what happened to its operation, and failed tells whether none was carried
// out.
func (t *Tree) Multi(x *Txn, ops []Request, who Client) (outs []Outcome, failed bool, code wire.Code) {
	outs = make([]Outcome, len(ops))
	var undo []func()
	for i := range ops {
		if failed {
			outs[i].Code = wire.CodeRuntimeInconsistency
			continue
		}
		var back func()
		outs[i], back = t.write(x, &ops[i], who)
		if back != nil {
			undo = append(undo, back)
		}
		failed = outs[i].Code != wire.CodeOK
		if outs[i].Code == wire.CodeMarshallingError {
			code = wire.CodeMarshallingError
		}
	}
	if failed {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
		x.Changes = nil
	}
	return outs, failed, code
}

// write checks one operation and applies it. What takes it back is nil if nothing
// was changed.
func (t *Tree) write(x *Txn, r *Request, who Client) (out Outcome, undo func()) {
	ch, code := t.check(r, who)
	out = Outcome{Op: r.Op, Code: code}
	if code != wire.CodeOK {
		return out, nil
	}
	out.Path = ch.Path
	if ch.Op == wire.OpCreate {
		out.Op = wire.OpCreate
		if ch.kind.selfGoing() {
			out.Op = wire.OpCreate2
		}
	}
	if r.Op != wire.OpCheck {
		undo = t.record(x, ch)
	}
	if n := t.nodes[ch.Path]; n != nil {
		out.Stat = n.Stat()
	}
	return out, undo
}

// check returns the change that an operation comes to, or the error that
// ZooKeeper answers.
func (t *Tree) check(r *Request, who Client) (Change, wire.Code) {
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return t.checkCreate(r, who)
	case wire.OpDelete:
		return t.checkDelete(r, who)
	}
	return t.checkSet(r, who)
}
