package conn

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// Call is one request of a Batch. Its methods may be called by any goroutine. Those that
// return a result are for a Call that is done.
type Call struct {
	call
	c     *Conn
	ran   Ran
	over  chan struct{}
	then  func()
	slot  bool     // it has one of Conn.slots
	key   watchKey // if the call is to set a watch; the zero value: it is not
	watch *Watch
}

func (k *Call) isWatch() bool { return k.key != watchKey{} }

// share waits for the answer to a request that another caller has made for the watch.
func (k *Call) share() {
	k.watch, k.err = k.c.armedWatch(k.watch)
	k.end()
}

// finished ends the call with the result that it has.
func (k *Call) finished() {
	if k.watch != nil {
		k.c.armed(k.watch, &k.answer, k.ran, k.err)
		close(k.watch.armed)
	}
	k.end()
}

func (k *Call) end() {
	if k.slot {
		k.c.slots.Release(1)
	}
	if k.then != nil {
		k.then()
	}
	close(k.over)
}

// Then arranges for f to be called with the result, just before the channel of Done is
// closed, by the goroutine that reads from the connection or by any other, perhaps before
// Send returns. f must not block, and must not wait for another request. Then is called
// before Send.
func (k *Call) Then(f func()) { k.then = f }

// Done returns a channel that is closed when the call is done.
func (k *Call) Done() <-chan struct{} { return k.over }

// Wait waits until the call is done, and returns its error. It fails with the cause of ctx
// when that ends first: the request may still be carried out.
func (k *Call) Wait(ctx context.Context) error {
	select {
	case <-k.over:
		return k.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Err returns the error of the request.
func (k *Call) Err() error { return k.err }

// Ran returns the states in which the request was made.
func (k *Call) Ran() Ran { return k.ran }

// Sent returns a time that is not after the request was written.
func (k *Call) Sent() time.Time { return k.sent }

// Zxid returns the zxid of the answer: that of the transaction if the request was a write
// of the quorum, so that it is the czxid of the nodes that this has created. It is 0 with
// a program's client.
func (k *Call) Zxid() int64 { return k.answer.zxid }

// Made returns the paths of the nodes that a Create has made.
func (k *Call) Made() []string { return k.rq.made(&k.answer) }

// Parts returns the results of a Multi, one for each operation.
func (k *Call) Parts() []zk.MultiResponse { return k.answer.parts }

// Names returns what Children has listed.
func (k *Call) Names() []string { return k.answer.names }

// Data returns what Get has read.
func (k *Call) Data() []byte { return k.answer.data }

// Stat returns the Stat that Stat or Get has read.
func (k *Call) Stat() *zk.Stat { return &k.answer.stat }

// Watch returns the watch that Watch or WatchChildren has set. It is nil if there is an
// error.
func (k *Call) Watch() *Watch {
	if k.err != nil {
		return nil
	}
	return k.watch
}
