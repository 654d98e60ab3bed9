package conn

import (
	"sync"
	"sync/atomic"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// outbox reports when creates are sent. A call of the client returns only with the
// answer. A caller that sends creates in a certain order without waiting for each answer
// has to know when one has been sent. The zero value is empty.
type outbox struct {
	waits atomic.Int32
	paths sync.Map // of creates: a func()
}

// Sent arranges for f to be called each time a create of the path has been written to a
// connection, until forget is called. f must not block. With a client that belongs to the
// program f is never called, because the Conn does not see that client's connections.
func (c *Conn) Sent(path string, f func()) (forget func()) {
	o := &c.outbox
	o.paths.Store(path, f)
	o.waits.Add(1)
	return func() {
		o.paths.Delete(path)
		o.waits.Add(-1)
	}
}

// waiter returns the function to call when a request has been sent, or nil. payload is
// the request's frame.
func (o *outbox) waiter(op wire.Op, payload []byte) func() {
	if op != wire.OpCreate || o.waits.Load() == 0 {
		return nil
	}
	_, body, err := wire.ParseRequestHeader(payload)
	if err != nil {
		return nil
	}
	d := wire.NewDecoder(body)
	f, _ := o.paths.Load(d.String())
	sent, _ := f.(func())
	return sent
}
