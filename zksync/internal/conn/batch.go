package conn

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Batch is a number of requests that are sent together, in one write, and that one
// connection carries: the servers run them one after the other in that order, and one
// that fails does not keep the others from running. It is used once, by one goroutine
// until Send.
//
// With a program's client, each request is made when the one before it has been answered.
// After one without an answer the others are not made.
type Batch struct {
	c     *Conn
	calls []*Call
}

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

// Batch returns a batch without requests.
func (c *Conn) Batch() *Batch { return &Batch{c: c} }

func (b *Batch) add(rq request) *Call {
	k := &Call{call: call{rq: rq}, c: b.c, over: make(chan struct{})}
	b.calls = append(b.calls, k)
	return k
}

// Create adds the request of [Conn.Create]: one node for each path, in one transaction
// if there are several. [Call.Made] has their paths.
func (b *Batch) Create(paths []string, data []byte, flags int32, acl []zk.ACL) *Call {
	if len(paths) == 1 {
		return b.add(request{op: wire.OpCreate, path: paths[0], data: data, acl: acl, flags: flags})
	}
	return b.Multi(creates(paths, data, flags, acl)...)
}

// Multi adds a transaction of *zk.CreateRequest, *zk.SetDataRequest, *zk.DeleteRequest,
// *zk.CheckVersionRequest and *[Container]. With a program's client a Container is not
// possible: the call fails, and Unimplemented reports true of its error.
func (b *Batch) Multi(ops ...any) *Call { return b.add(request{op: wire.OpMulti, ops: ops}) }

// Delete adds the deletion of a node, whatever its version.
func (b *Batch) Delete(path string) *Call {
	return b.add(request{op: wire.OpDelete, path: path, version: -1})
}

// Children adds a listing; [Call.Names] has the names.
func (b *Batch) Children(path string) *Call {
	return b.add(request{op: wire.OpGetChildren2, path: path})
}

// Stat adds a read of a node's Stat.
func (b *Batch) Stat(path string) *Call { return b.add(request{op: wire.OpExists, path: path}) }

// Get adds a read of a node's data and Stat.
func (b *Batch) Get(path string) *Call { return b.add(request{op: wire.OpGetData, path: path}) }

// Sync adds the request of [Conn.Sync].
func (b *Batch) Sync(path string) *Call { return b.add(request{op: wire.OpSync, path: path}) }

// Watch adds the watch of [Conn.Watch]. If that is set already, there is no request, and
// the watch may have been set before the other requests of the batch: see Watch.Since.
func (b *Batch) Watch(path string) *Call { return b.addWatch(watchKey{path: path}) }

// WatchChildren does the same as Watch for [Conn.WatchChildren].
func (b *Batch) WatchChildren(path string) *Call {
	return b.addWatch(watchKey{path: path, children: true})
}

func (b *Batch) addWatch(key watchKey) *Call {
	k := b.add(key.request(true))
	k.key = key
	return k
}

// Send sends the requests. Each Call is done in the end, at the latest when the connection
// ends or the Conn is closed. If nothing could be sent, all calls are done at once, with
// one error: that is [NotSent] by [Classify], or a *[SizeError] if a request is too
// large. The error Is the cause of ctx if ctx ended while maxOutstanding requests waited
// for their answers.
//
// Send does not wait for the answers. Whatever this Conn sends after Send has returned
// comes after these requests. If ctx can't end, Send waits until they are written, for T/3
// at most. Otherwise it leaves the write to another goroutine if that might take time.
func (b *Batch) Send(ctx context.Context) {
	ran, err := b.send(ctx)
	if err != nil {
		b.fail(ran, err)
	}
}

// fail ends the calls whose requests were not sent.
func (b *Batch) fail(ran Ran, err error) {
	for _, k := range b.calls {
		k.ran, k.err = ran, err
		k.finished()
	}
}

func (b *Batch) send(ctx context.Context) (Ran, error) {
	c := b.c
	for _, k := range b.calls {
		if err := c.fits(k.rq.size()); err != nil {
			return Ran{}, err
		}
	}
	by, ran, err := c.carrier()
	if err != nil {
		return ran, err
	}
	p, ok := by.(*pipe)
	if !ok {
		go b.runAll()
		return Ran{}, nil
	}
	if err := c.slot(ctx, len(b.calls)); err != nil {
		return p.ran(), err
	}
	b.sendOn(p, ctx.Done() == nil)
	return Ran{}, nil
}

// slot waits until n more requests may wait for their answers.
func (c *Conn) slot(ctx context.Context, n int) error {
	if c.slots.TryAcquire(int64(n)) {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(ErrClosed) })()
	if err := c.slots.Acquire(ctx, int64(n)); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, context.Cause(ctx))
	}
	return nil
}

// sendOn sends the requests on a pipe. wait is true if the caller can wait for the write.
func (b *Batch) sendOn(p *pipe, wait bool) {
	calls := make([]*call, 0, len(b.calls))
	for _, k := range b.calls {
		k.ran, k.slot, k.owner = p.ran(), true, k
		if k.isWatch() {
			var isNew bool
			if k.watch, isNew, _ = b.c.watches.get(k.key); !isNew {
				go k.share()
				continue
			}
		}
		calls = append(calls, &k.call)
	}
	upto, roomy, err := p.enqueue(calls)
	if err != nil {
		for _, k := range calls {
			k.err = err
			k.finish()
		}
		return
	}
	switch {
	case wait:
		_ = p.written(upto) // its error ends the calls, too
	case roomy:
		p.flush()
	default:
		go p.flush()
	}
}

// runAll makes the requests with a program's client.
func (b *Batch) runAll() {
	for i, k := range b.calls {
		if k.isWatch() {
			k.watch, k.err = b.c.sharedWatch(k.key)
			st, _ := b.c.State()
			k.ran = Ran{Before: st, After: st}
		} else {
			k.answer, k.ran, k.err = b.c.do(k.rq)
		}
		k.end()
		if Classify(k.err) != Answered {
			(&Batch{c: b.c, calls: b.calls[i+1:]}).fail(k.ran, errNotSent)
			return
		}
	}
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

// DeleteAsync sends the deletion of a node, whatever its version, and returns once that has
// been written to the connection. It waits for the write for T/3 at most; then it ends
// the connection, and the outcome is unknown. f is called once with the result, perhaps
// before DeleteAsync returns, by the goroutine that reads from the connection or by any
// other. f must not block, and must not wait for another request.
//
// If nothing could be sent, DeleteAsync returns an error that is [NotSent] by [Classify],
// and does not call f. It waits for T/3 at most while maxOutstanding requests wait for
// their answers. With a program's client, a goroutine makes the request, and DeleteAsync
// does not wait for that.
func (c *Conn) DeleteAsync(path string, f func(Ran, error)) error {
	rq := request{op: wire.OpDelete, path: path, version: -1}
	if err := c.fits(rq.size()); err != nil {
		return err
	}
	by, _, err := c.carrier()
	if err != nil {
		return err
	}
	p, ok := by.(*pipe)
	if !ok {
		go func() {
			_, ran, err := c.do(rq)
			f(ran, err)
		}()
		return nil
	}
	if err := c.slotWithin(p.patience()); err != nil {
		return err
	}
	d := &deletion{call: call{rq: rq}, p: p, f: f}
	d.owner = d
	upto, _, err := p.enqueue([]*call{&d.call})
	if err != nil {
		c.slots.Release(1)
		return err
	}
	_ = p.written(upto) // its error ends the call, too
	return nil
}

// slotWithin does the same as slot for one request, for some time at most.
func (c *Conn) slotWithin(d time.Duration) error {
	if c.slots.TryAcquire(1) {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.life, d)
	defer cancel()
	return c.slot(ctx, 1)
}

// deletion is the call of DeleteAsync.
type deletion struct {
	call
	p *pipe
	f func(Ran, error)
}

func (d *deletion) finished() {
	d.p.c.slots.Release(1)
	d.f(d.p.ran(), d.err)
}
