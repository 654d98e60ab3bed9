package conn

import (
	"context"

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
	// A batch of more requests than may wait would never get a slot for each.
	if err := c.slot(ctx, min(len(b.calls), maxOutstanding)); err != nil {
		return p.ran(), err
	}
	pace := Soon
	if ctx.Done() == nil {
		pace = Wait
	}
	b.sendOn(p, pace)
	return Ran{}, nil
}

// SendSoon does the same as Send, but returns false if that would fail or take time: there
// is no connection, a request is too large, too many wait for their answers, or the client
// belongs to the program. Nothing was sent then, and no call is done.
func (b *Batch) SendSoon() bool {
	for _, k := range b.calls {
		if b.c.fits(k.rq.size()) != nil {
			return false
		}
	}
	p := b.c.pipe.Load()
	if p == nil || !b.c.slots.TryAcquire(int64(min(len(b.calls), maxOutstanding))) {
		return false
	}
	b.sendOn(p, Soon)
	return true
}

// sendOn sends the requests on a pipe.
func (b *Batch) sendOn(p *pipe, pace Pace) {
	calls := make([]*call, 0, len(b.calls))
	for i, k := range b.calls {
		k.ran, k.slot, k.owner = p.ran(), i < maxOutstanding, k
		if k.isWatch() {
			var isNew bool
			if k.watch, isNew, _ = b.c.watches.get(k.key); !isNew {
				if k.slot { // the caller that makes the request may be waiting for one
					k.slot = false
					b.c.slots.Release(1)
				}
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
	p.send(upto, roomy, pace)
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
