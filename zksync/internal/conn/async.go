package conn

import (
	"context"
	"fmt"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Pace says which goroutine writes a request, and who waits for that. The place of the
// request in the order of all requests is certain in each case.
type Pace int

const (
	Later Pace = iota // another goroutine writes
	Soon              // the caller writes, unless that might take time by what waits for an answer
	Wait              // the caller returns once it is written: after T/3 the connection ends, and the outcome is unknown
)

// DeleteAsync sends the deletion of a node, whatever its version. f is called once with
// the result, perhaps before DeleteAsync returns, by the goroutine that reads from the
// connection or by any other. f must not block, and must not wait for another request.
//
// If nothing could be sent, because there is no connection or because maxOutstanding
// requests wait for their answers, DeleteAsync returns at once with an error that is
// [NotSent] by [Classify], and does not call f. With a program's client, a goroutine makes
// the request, and DeleteAsync does not wait for that.
func (c *Conn) DeleteAsync(path string, pace Pace, f func(Ran, error)) error {
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
	p.send(upto, roomy, pace)
	return nil
}

// send writes what is queued. The error of a write ends the calls.
func (p *pipe) send(upto int64, roomy bool, pace Pace) {
	switch {
	case pace == Wait:
		_ = p.written(upto)
	case pace == Soon && roomy:
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
