package zktest

import (
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// request is one that has been read. Which fields count depends on its operation.
type request struct {
	tree.Request // a write; the operation and the path of all

	xid    int32
	watch  bool
	kind   int32          // of watch: a mode, or a type
	scheme string         // of auth
	ops    []tree.Request // of multi and multiRead

	record *Record // nil unless it is recorded

	// Of reconfig.
	joining, leaving, servers []byte // servers is nil if there are only changes
	config                    int64  // the expected version, or -1

	// Of setWatches.
	zxid                                       int64
	data1, exist, child, persistent, recursive []string
}

// parseRequest reads what follows the header. The error wraps wire.ErrMalformed.
func parseRequest(h wire.RequestHeader, body []byte) (request, error) {
	d := wire.NewDecoder(body)
	d.AllowNull = true // kazoo's empty strings are
	d.Text = decoded
	r := request{xid: h.Xid}
	r.Op = h.Op
	switch {
	case h.Op == wire.OpMulti, h.Op == wire.OpMultiRead:
		if !r.parseMulti(&d) {
			return r, wire.ErrMalformed
		}
	case !parsePart(&r.Request, &d):
		r.parse(&d)
	}
	return r, d.Err()
}

// parseMulti reads the operations of a multi or multiRead. It reports false for one
// that can't be a part of a multi, and for a read beside a write. ZooKeeper reads a
// multiRead of writes to its end, and then refuses it.
func (r *request) parseMulti(d *wire.Decoder) bool {
	for d.Err() == nil {
		m := d.MultiHeader()
		if d.Err() != nil || m.Done {
			break
		}
		part := tree.Request{Op: m.Type, Part: true}
		if isRead(part.Op) {
			part.Path = pathOf(d)
			d.Bool() // no part of a multi watches
		} else if !parsePart(&part, d) {
			return false
		}
		if len(r.ops) > 0 && isRead(r.ops[0].Op) != isRead(part.Op) {
			return false
		}
		r.ops = append(r.ops, part)
	}
	return r.Op == wire.OpMultiRead || len(r.ops) == 0 || !isRead(r.ops[0].Op)
}

// isRead reports whether an operation may be a part of a multiRead.
func isRead(op wire.Op) bool { return op == wire.OpGetData || op == wire.OpGetChildren }

// parsePart reads an operation that may be a part of a multi that writes. It reports false,
// and has read nothing, for any other.
func parsePart(r *tree.Request, d *wire.Decoder) bool {
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.Path, r.Data, r.ACL, r.Flags, r.TTL = pathOf(d), d.Buffer(), d.ACLs(), d.Int32(), -1
		if r.Op == wire.OpCreateTTL {
			r.TTL = d.Int64()
		}
	case wire.OpDelete:
		r.Path, r.Version = pathOf(d), d.Int32()
	case wire.OpCheck:
		r.Path, r.Version = checkedPath(r, d), d.Int32()
	case wire.OpSetData:
		r.Path, r.Data, r.Version = checkedPath(r, d), d.Buffer(), d.Int32()
	default:
		return false
	}
	return true
}

// parse reads an operation that is no part of a multi.
func (r *request) parse(d *wire.Decoder) {
	switch r.Op {
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		r.Path, r.watch = pathOf(d), d.Bool()
	case wire.OpGetACL, wire.OpGetAllChildrenNumber:
		r.Path = pathOf(d)
	case wire.OpSync:
		r.Data = d.Buffer() // nil for a null path, which is a good one here
		r.Path = decoded(string(r.Data))
	case wire.OpGetEphemerals:
		r.Path = d.String()
	case wire.OpCreateSession:
		d.Int32() // a timeout
	case wire.OpSetACL:
		r.Path, r.ACL, r.Version = d.String(), d.ACLs(), d.Int32() // a null path is a bad one
	case wire.OpAuth:
		r.kind, r.scheme, r.Data = d.Int32(), d.String(), d.Buffer()
	case wire.OpSASL:
		if r.Data = d.Buffer(); r.Data == nil {
			d.Fail("no token")
		}
	case wire.OpReconfig:
		r.joining, r.leaving, r.servers, r.config = d.Buffer(), d.Buffer(), d.Buffer(), d.Int64()
	case wire.OpSetWatches, wire.OpSetWatches2:
		d.AllowNull = false
		r.zxid, r.data1, r.exist, r.child = d.Int64(), d.Strings(), d.Strings(), d.Strings()
		d.AllowNull = true
		if r.Op == wire.OpSetWatches2 {
			r.persistent, r.recursive = d.Strings(), d.Strings()
		}
	case wire.OpAddWatch, wire.OpCheckWatches:
		r.Path, r.kind = pathOf(d), d.Int32()
	case wire.OpRemoveWatches:
		path := d.Buffer()
		if r.Path, r.kind = decoded(string(path)), d.Int32(); path == nil {
			r.Path = nullPath // the empty path may be watched
		}
	}
}

// checkedPath reads a path of a request that is checked before it is used: a null one
// gets the error of a bad one. In a multi ZooKeeper has no answer for it.
func checkedPath(r *tree.Request, d *wire.Decoder) string {
	if r.Part {
		return pathOf(d)
	}
	return d.String()
}

// nullPath stands for a path that is null. No node has it, and nobody watches it.
const nullPath = "\x00"

// pathOf reads a path that may not be null, as other strings may.
func pathOf(d *wire.Decoder) string {
	d.AllowNull = false
	p := d.String()
	d.AllowNull = true
	return p
}

// known reports whether the server carries a request out. The rest are answered
// as unimplemented, and end the connection, as in ZooKeeper.
func known(op wire.Op) bool {
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete, wire.OpSetData,
		wire.OpSetACL, wire.OpMulti, wire.OpCheck, wire.OpReconfig, wire.OpExists, wire.OpGetData, wire.OpGetACL,
		wire.OpGetChildren, wire.OpGetChildren2, wire.OpSync, wire.OpPing, wire.OpAuth, wire.OpSetWatches,
		wire.OpSetWatches2, wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches, wire.OpCloseSession,
		wire.OpMultiRead, wire.OpGetEphemerals, wire.OpGetAllChildrenNumber, wire.OpWhoAmI, wire.OpDeleteContainer,
		wire.OpCreateSession, wire.OpSASL:
		return true
	}
	return false
}

// isWrite is wire's, for the requests that clients send.
func isWrite(op wire.Op) bool { return op.Write() || op == wire.OpCheck }

// byLeader reports whether a request needs the leader.
func (r *request) byLeader() bool { return isWrite(r.Op) || r.Op == wire.OpSync }
