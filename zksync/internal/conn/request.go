package conn

import (
	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// request is one request of this package. A carrier brings it to the servers.
type request struct {
	op      wire.Op
	path    string
	data    []byte
	acl     []zk.ACL
	flags   int32 // of a create: those of package zk; of a removal of watches: their kind
	version int32
	watch   bool  // of a read: also set a watch
	ops     []any // of a transaction; see sizeOne for their types
}

// answer is the answer to a request. Which fields it has depends on the request.
type answer struct {
	path   string
	data   []byte
	names  []string
	stat   zk.Stat
	parts  []zk.MultiResponse
	zxid   int64           // of the answer; 0: not known, because a program's client carried the request
	events <-chan zk.Event // of a watch that a program's client has set
}

// carrier brings a request to the servers, and returns when it has been answered or
// has failed. The pipe of the connection is one, and so is the client of a program.
type carrier interface {
	carry(rq *request) (answer, Ran, error)
}

// size returns the largest size of a request, in bytes, without its header.
func (rq *request) size() int {
	switch rq.op {
	case wire.OpMulti:
		return sizeMulti(rq.ops)
	case wire.OpCreate, wire.OpCreateContainer:
		return sizeCreate(rq.path, rq.data, rq.acl)
	case wire.OpSetData:
		return sizeText(rq.path) + sizeInt + len(rq.data) + sizeInt
	case wire.OpDelete:
		return sizeText(rq.path) + sizeInt
	}
	return sizeRead(rq.path)
}

// Container is an operation of a transaction: it creates a container node, which
// the servers remove some time after its last child. See [Batch.Multi].
type Container struct {
	Path string
	Acl  []zk.ACL
}
