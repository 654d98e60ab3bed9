package queue

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// walk waits until it is the turn of the entry's node in place i. It decides again,
// with a fresh listing, after every event that might have changed the answer: an end
// or a change of the blocker or of its own node, or a lost connection.
//
// It begins with the listing in seen, if that is not nil.
func (e *Entry) walk(ctx context.Context, i int, seen *view) (waited bool, err error) {
	var told told
	var rest pause
	for {
		st, err := e.c.Await(ctx)
		if err != nil {
			return waited, err
		}
		if st.Session != e.session {
			return waited, errAgain
		}
		if seen == nil {
			seen = e.list(i)
		}
		line, own, looked := seen.line, seen.own, seen.at
		err, seen = seen.err, nil
		if err != nil {
			return waited, err
		}
		if line == nil {
			rest.wait(ctx)
			continue
		}
		if znode.Exhausted(line, own) {
			return waited, ErrExhausted
		}
		v := e.order.Places[i].Rule(line, own)
		e.place.Store(int32(v.place(own)))
		if err := e.limits(line, own); err != nil {
			return waited, err
		}
		if v.Held {
			switch err := e.confirmAlive(i); {
			case err == nil:
				e.announce(line, own)
				return waited, nil
			case again(err):
				rest.wait(ctx)
				continue
			default:
				return waited, err
			}
		}
		if e.order.Try {
			return waited, e.busy(e.order.Places[i], line, v)
		}
		waited = true
		if v.Crowd {
			err = e.waitForChange(ctx, i, line, own, v, looked, &told)
		} else {
			blocker := path.Join(e.order.Places[i].Parent, line[v.Watch].Raw)
			err = e.block(ctx, i, v.place(own), blocker, v.Sole, &told)
			if errors.Is(err, errIn) {
				err = e.waitForChange(ctx, i, line, own, v, looked, &told)
			}
		}
		switch {
		case errors.Is(err, errLook):
			rest = pause{}
		case again(err):
			rest.wait(ctx)
		default:
			return waited, err
		}
	}
}

// place returns the position in line of the node at own: 1 is the next.
func (v Verdict) place(own int) int {
	if v.Place > 0 {
		return v.Place
	}
	return own
}

// errLook asks for another listing.
var errLook = errors.New("look again")

// again reports whether err means another try, not the end. An error that is not an
// answer is no reason to give up: the connection recovers, or the ctx ends.
func again(err error) bool {
	return err != nil && (errors.Is(err, errLook) || errors.Is(err, conn.ErrNoContact) ||
		!errors.Is(err, errAgain) && !errors.Is(err, conn.ErrClosed) && !isCtx(err) &&
			conn.Classify(err) != conn.Answered)
}

// readFence sets a watch on our own node; the answer has its czxid, the fence.
func (e *Entry) readFence(i int) error {
	_, err := e.watchOwn(i)
	return err
}

// told is the node that Blocked got last.
type told struct {
	node string
	data []byte
}

// ctxEnd marks an error as the end of a ctx, because its cause may be any error.
type ctxEnd struct{ cause error }

func (e ctxEnd) Error() string { return fmt.Sprint(e.cause) }
func (e ctxEnd) Unwrap() error { return e.cause }

func isCtx(err error) bool {
	var c ctxEnd
	return errors.As(err, &c)
}
