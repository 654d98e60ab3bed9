package conn

import (
	"sync"
	"sync/atomic"
)

// outbox reports when creates are sent. A call returns only with the answer. A caller
// that sends creates in a certain order without waiting for each answer has to know when
// one has been sent. The zero value is empty.
type outbox struct {
	waits atomic.Int32
	paths sync.Map // of creates: a func()
}

// Sent arranges for f to be called each time a create of the path has been sent, until
// forget is called: whatever is sent after that stands behind it on the connection. f
// must not block. With a client that belongs to the program f is never called, because
// nobody knows when that client sends a request.
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
	if o.waits.Load() == 0 {
		return
	}
	if f, ok := o.paths.Load(path); ok {
		f.(func())()
	}
}
