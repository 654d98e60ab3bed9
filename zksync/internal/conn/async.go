package conn

import (
	"context"
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

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
