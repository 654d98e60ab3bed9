package conn

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// appendFrame appends the frame of a request to dst and returns the extended slice.
func (rq *request) appendFrame(dst []byte, xid int32) []byte {
	start := len(dst)
	e := wire.Encoder{Buf: dst}
	e.Int32(0) // the length, known below
	e.Int32(xid)
	e.Int32(int32(rq.op))
	switch rq.op {
	case wire.OpMulti:
		for _, op := range rq.ops {
			encodePart(&e, op)
		}
		e.MultiEnd()
	case wire.OpCreate, wire.OpCreateContainer:
		encodeCreate(&e, rq.path, rq.data, rq.acl, rq.flags)
	case wire.OpSetData:
		e.String(rq.path)
		e.Buffer(rq.data)
		e.Int32(rq.version)
	case wire.OpDelete:
		e.String(rq.path)
		e.Int32(rq.version)
	case wire.OpSync:
		e.String(rq.path)
	case wire.OpRemoveWatches:
		e.String(rq.path)
		e.Int32(rq.flags)
	default: // a read
		e.String(rq.path)
		e.Bool(rq.watch)
	}
	binary.BigEndian.PutUint32(e.Buf[start:], uint32(len(e.Buf)-start-wire.FrameHeader))
	return e.Buf
}

func encodeCreate(e *wire.Encoder, path string, data []byte, acl []zk.ACL, flags int32) {
	e.String(path)
	e.Buffer(data)
	e.Count(len(acl))
	for _, a := range acl {
		e.Int32(a.Perms)
		e.String(a.Scheme)
		e.String(a.ID)
	}
	e.Int32(flags)
}

// encodePart appends one operation of a transaction.
func encodePart(e *wire.Encoder, op any) {
	head := func(kind wire.Op) { e.MultiHeader(wire.MultiHeader{Type: kind, Err: -1}) }
	switch op := op.(type) {
	case *zk.CreateRequest:
		head(wire.OpCreate)
		encodeCreate(e, op.Path, op.Data, op.Acl, op.Flags)
	case *Container:
		head(wire.OpCreateContainer)
		encodeCreate(e, op.Path, nil, op.Acl, zk.FlagContainer)
	case *zk.SetDataRequest:
		head(wire.OpSetData)
		e.String(op.Path)
		e.Buffer(op.Data)
		e.Int32(op.Version)
	case *zk.DeleteRequest:
		head(wire.OpDelete)
		e.String(op.Path)
		e.Int32(op.Version)
	case *zk.CheckVersionRequest:
		head(wire.OpCheck)
		e.String(op.Path)
		e.Int32(op.Version)
	default:
		panic(fmt.Sprintf("zksync: an operation of type %T", op))
	}
}

// decode reads the body of the answer to a request, which copies what it keeps. The
// error malformed wraps [wire.ErrMalformed]; err is what the answer says.
func (rq *request) decode(body []byte) (a answer, err, malformed error) {
	d := wire.NewDecoder(body)
	switch rq.op {
	case wire.OpMulti:
		a.parts, err = decodeParts(&d)
		if d.Err() == nil && err == nil && len(a.parts) != len(rq.ops) {
			return a, nil, fmt.Errorf("%w: %d results of %d operations", wire.ErrMalformed, len(a.parts), len(rq.ops))
		}
	case wire.OpCreate, wire.OpCreateContainer: // a Stat may follow
		a.path = d.String()
	case wire.OpSetData, wire.OpExists:
		a.stat = zk.Stat(d.Stat())
	case wire.OpGetData:
		a.data = bytes.Clone(d.Buffer())
		a.stat = zk.Stat(d.Stat())
	case wire.OpGetChildren2:
		a.names = d.Strings()
		a.stat = zk.Stat(d.Stat())
	}
	if d.Err() != nil {
		return answer{}, nil, fmt.Errorf("answer to %v: %w", rq.op, d.Err())
	}
	return a, err, nil
}

// decodeParts reads the results of a transaction. The error is that of the first
// operation that failed: those before it have the code 0 then.
func decodeParts(d *wire.Decoder) (parts []zk.MultiResponse, err error) {
	for d.Err() == nil {
		h := d.MultiHeader()
		if d.Err() != nil || h.Done {
			break
		}
		var part zk.MultiResponse
		switch h.Type {
		case wire.OpError:
			part.Error = toError(wire.Code(d.Int32()))
		case wire.OpCreate:
			part.String = d.String()
		case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
			part.String = d.String()
			stat := zk.Stat(d.Stat())
			part.Stat = &stat
		case wire.OpSetData:
			stat := zk.Stat(d.Stat())
			part.Stat = &stat
		case wire.OpDelete, wire.OpCheck:
		default:
			d.Fail("result of type %v", h.Type)
		}
		if err == nil {
			err = part.Error
		}
		parts = append(parts, part)
	}
	return parts, err
}

// codeErrors are the errors that the client makes of the servers' codes
// (constants.go:109-129).
var codeErrors = map[wire.Code]error{
	wire.CodeAPIError:                zk.ErrAPIError,
	wire.CodeNoNode:                  zk.ErrNoNode,
	wire.CodeNoAuth:                  zk.ErrNoAuth,
	wire.CodeBadVersion:              zk.ErrBadVersion,
	wire.CodeNoChildrenForEphemerals: zk.ErrNoChildrenForEphemerals,
	wire.CodeNodeExists:              zk.ErrNodeExists,
	wire.CodeNotEmpty:                zk.ErrNotEmpty,
	wire.CodeSessionExpired:          zk.ErrSessionExpired,
	wire.CodeInvalidACL:              zk.ErrInvalidACL,
	wire.CodeAuthFailed:              zk.ErrAuthFailed,
	wire.CodeSessionMoved:            zk.ErrSessionMoved,
	wire.CodeReconfigDisabled:        zk.ErrReconfigDisabled,
	wire.CodeBadArguments:            zk.ErrBadArguments,
}

// toError returns the error that the client would return for a code.
func toError(code wire.Code) error {
	if code == wire.CodeOK {
		return nil
	}
	if err := codeErrors[code]; err != nil {
		return err
	}
	return fmt.Errorf("%s%d", unnamed, int32(code))
}
