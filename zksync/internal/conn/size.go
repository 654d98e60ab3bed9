package conn

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// SizeError is the error of a request that was not sent because it is too large. If an
// operation of a transaction begins at the very end of the client's buffer, the client
// ends the process (structs.go:418, 501-506). A server ends the connection on which a
// request comes that is too large for it.
type SizeError struct {
	Size  int // of the request, in bytes
	Limit int // of requests
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("request of %d bytes, at most %d can be sent", e.Size, e.Limit)
}

const (
	// serverLimit is the largest request that a server accepts by default:
	// ZooKeeper's jute.maxbuffer. The buffer of a program's client is larger, 1.5 MiB
	// unless the program has set it.
	serverLimit = 0xfffff

	// clientLimit is the largest request that a client of the Conn's own gets. It
	// fits into the client's buffer, together with the length before each request.
	clientLimit = sendBuffer - 1<<10
)

// fits returns a *SizeError if a request with that many bytes after its header is too
// large.
func (c *Conn) fits(body int) error {
	if size := sizeHeader + body; size > c.limit {
		return &SizeError{Size: size, Limit: c.limit}
	}
	return nil
}

// The sizes of parts of a request, in bytes.
const (
	sizeHeader = 8 // xid and kind of the request
	sizeInt    = 4
	sizeOp     = 9 // kind, end and error: before each operation, and after the last
)

func sizeText(s string) int { return sizeInt + len(s) }

// sizeOf returns the size of a request that does one operation, or several in one
// transaction.
func sizeOf(ops ...any) int {
	if len(ops) == 1 {
		return sizeOne(ops[0])
	}
	return sizeMulti(ops)
}

func sizeMulti(ops []any) int {
	n := sizeOp
	for _, op := range ops {
		n += sizeOp + sizeOne(op)
	}
	return n
}

func sizeOne(op any) int {
	switch op := op.(type) {
	case *zk.CreateRequest:
		return sizeCreate(op.Path, op.Data, op.Acl)
	case *Container:
		return sizeCreate(op.Path, nil, op.Acl)
	case *zk.SetDataRequest:
		return sizeText(op.Path) + sizeInt + len(op.Data) + sizeInt
	case *zk.DeleteRequest:
		return sizeText(op.Path) + sizeInt
	case *zk.CheckVersionRequest:
		return sizeText(op.Path) + sizeInt
	}
	panic(fmt.Sprintf("zksync: size of %T", op))
}

func sizeCreate(path string, data []byte, acl []zk.ACL) int {
	n := sizeText(path) + sizeInt + len(data) + sizeInt + sizeInt
	for _, a := range acl {
		n += sizeInt + sizeText(a.Scheme) + sizeText(a.ID)
	}
	return n
}

// sizeCheck returns the size of the check of a node in a transaction, and sizeChecks that
// of several.
func sizeCheck(path string) int { return sizeOp + sizeText(path) + sizeInt }

func sizeChecks(paths []string) (sum int64) {
	for _, p := range paths {
		sum += int64(sizeCheck(p))
	}
	return sum
}

// sizeRead returns the largest size of a request that reads a node.
func sizeRead(path string) int { return sizeText(path) + 1 }

// creates returns the operations that create one node for each path.
func creates(paths []string, data []byte, flags int32, acl []zk.ACL) []any {
	ops := make([]any, len(paths))
	for i, p := range paths {
		ops[i] = &zk.CreateRequest{Path: p, Data: data, Acl: acl, Flags: flags}
	}
	return ops
}
