package conn

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// SizeError says that a request was not sent because it is too large: the client
// ends the process where a transaction's operation begins at the very end of its
// buffer (structs.go:418 and 501-506 there), and a server ends the connection over a
// request that it does not take.
type SizeError struct {
	Size  int // of the request, in bytes
	Limit int // of requests
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("request of %d bytes, at most %d can be sent", e.Size, e.Limit)
}

const (
	// serverLimit is the largest request that a server takes unless it is set up
	// otherwise: ZooKeeper's jute.maxbuffer. A client of the program's holds more,
	// 1.5 MiB unless the program has set it.
	serverLimit = 0xfffff

	// clientLimit is the largest request that is handed to our own clients. It is
	// less than their buffer holds, behind the length before each request.
	clientLimit = sendBuffer - 1<<10
)

// fits returns a *SizeError for a request with that many bytes after its header.
func (c *Conn) fits(body int) error {
	if size := sizeHeader + body; size > c.limit {
		return &SizeError{Size: size, Limit: c.limit}
	}
	return nil
}

// What parts of a request take.
const (
	sizeHeader = 8 // xid and kind of the request
	sizeInt    = 4
	sizeOp     = 9 // kind, end and error: before each operation, and after the last
)

func sizeText(s string) int { return sizeInt + len(s) }

// sizeOf is the size of a request that does one operation, or several in one
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
		n := sizeText(op.Path) + sizeInt + len(op.Data) + sizeInt + sizeInt
		for _, a := range op.Acl {
			n += sizeInt + sizeText(a.Scheme) + sizeText(a.ID)
		}
		return n
	case *zk.SetDataRequest:
		return sizeText(op.Path) + sizeInt + len(op.Data) + sizeInt
	case *zk.DeleteRequest:
		return sizeText(op.Path) + sizeInt
	case *zk.CheckVersionRequest:
		return sizeText(op.Path) + sizeInt
	}
	panic(fmt.Sprintf("zksync: size of %T", op))
}

// sizeRead is the size of a request that reads a node, at most.
func sizeRead(path string) int { return sizeText(path) + 1 }

// creates are the operations that make one node for each path.
func creates(paths []string, data []byte, flags int32, acl []zk.ACL) []any {
	ops := make([]any, len(paths))
	for i, p := range paths {
		ops[i] = &zk.CreateRequest{Path: p, Data: data, Acl: acl, Flags: flags}
	}
	return ops
}
