package conn

import (
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// outbox reports when creates and deletions are sent. A call returns only with the
// answer. A caller that sends requests in a certain order without waiting for each answer
// has to know when one has been sent. The zero value is empty.
type outbox struct {
	waits atomic.Int32
	paths sync.Map // of creates and deletions: a func()
}

// Sent arranges for f to be called each time a create of the path has been sent, until
// forget is called: whatever is sent after that stands behind it on the connection. f
// must not block. With a client that belongs to the program f is never called, because
// nobody knows when that client sends a request.
//
// For a deletion of the path, and for a transaction that begins with a create or a deletion
// of it, f is called when the request has been written to the connection.
func (c *Conn) Sent(path string, f func()) (forget func()) {
	o := &c.outbox
	o.paths.Store(path, f)
	o.waits.Add(1)
	return func() {
		o.paths.Delete(path)
		o.waits.Add(-1)
	}
}

// sent reports that a create of the path has been sent.
func (o *outbox) sent(path string) {
	if f := o.of(path); f != nil {
		f()
	}
}

// of returns the function for a path, or nil.
func (o *outbox) of(path string) func() {
	if o.waits.Load() == 0 {
		return nil
	}
	f, _ := o.paths.Load(path)
	sent, _ := f.(func())
	return sent
}

// waiter returns the function to call when a deletion or a transaction has been written,
// or nil.
func (o *outbox) waiter(rq *request) func() {
	switch rq.op {
	case wire.OpDelete:
		return o.of(rq.path)
	case wire.OpMulti:
		if len(rq.ops) == 0 {
			return nil
		}
		switch op := rq.ops[0].(type) {
		case *zk.CreateRequest:
			return o.of(op.Path)
		case *zk.DeleteRequest:
			return o.of(op.Path)
		}
	}
	return nil
}
