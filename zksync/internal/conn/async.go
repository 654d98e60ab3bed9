package conn

import (
	"context"
	"fmt"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// DeleteAsync sends the deletion of a node, whatever its version. If wait is true, it
// returns once that has been written to the connection: it waits for T/3 at most, and then
// ends the connection, so that the outcome is unknown. Otherwise it leaves a write that might
// take time to another goroutine. f is called once with the result, perhaps before
// DeleteAsync returns, by the goroutine that reads from the connection or by any other. f
// must not block, and must not wait for another request.
//
// If nothing could be sent, because there is no connection or because maxOutstanding
// requests wait for their answers, DeleteAsync returns at once with an error that is
// [NotSent] by [Classify], and does not call f. With a program's client, a goroutine makes
// the request, and DeleteAsync does not wait for that.
func (c *Conn) DeleteAsync(path string, wait bool, f func(Ran, error)) error {
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
	if !c.slots.TryAcquire(1) {
		return errNotSent
	}
	d := &deletion{call: call{rq: rq}, p: p, f: f}
	d.owner = d
	upto, roomy, err := p.enqueue([]*call{&d.call})
	if err != nil {
		c.slots.Release(1)
		return err
	}
	p.send(upto, roomy, wait)
	return nil
}

// send writes what is queued. With wait it returns once that is written; the error of a
// write ends the calls.
func (p *pipe) send(upto int64, roomy, wait bool) {
	switch {
	case wait:
		_ = p.written(upto)
	case roomy:
		p.flushes(true)
	default:
		go p.flush()
	}
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
