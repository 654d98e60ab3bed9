package conn

import (
	"sync"
	"sync/atomic"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// outbox tells when creates are sent. A call of the client returns with the answer
// only. Whoever wants creates to reach the servers in an order, and not to wait for
// each answer, has to know when one has been sent. The zero value is empty.
type outbox struct {
	waits atomic.Int32
	paths sync.Map // of creates: a func()
}

// Sent has f called when a create of the path has been written to a connection, until
// forget is called. f must not block. For a client of the program's, whose connection
// is its own, f is never called.
func (c *Conn) Sent(path string, f func()) (forget func()) {
	o := &c.outbox
	o.paths.Store(path, f)
	o.waits.Add(1)
	return func() {
		o.paths.Delete(path)
		o.waits.Add(-1)
	}
}

// told returns who waits for a request to be sent, or nil. payload is the request's
// frame.
func (o *outbox) told(op wire.Op, payload []byte) func() {
	if op != wire.OpCreate || o.waits.Load() == 0 {
		return nil
	}
	_, body, err := wire.ParseRequestHeader(payload)
	if err != nil {
		return nil
	}
	d := wire.NewDecoder(body)
	f, _ := o.paths.Load(d.String())
	told, _ := f.(func())
	return told
}
