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
// or a change of the blocker or of its own node, or a lost connection. If seen is not
// nil, it is the first listing.
//
// waited reports whether it was not the node's turn at once.
func (e *Entry) walk(ctx context.Context, i int, seen *view) (waited bool, err error) {
	var known blocked
	defer func() { known.follows(e.c, nil) }()
	var rest pause
	for {
		if seen, err = e.view(ctx, i, seen); err != nil {
			return waited, err
		}
		if seen.line == nil {
			seen = nil
			rest.wait(ctx)
			continue
		}
		v, err := e.decide(i, seen)
		if err != nil {
			return waited, err
		}
		switch {
		case v.Held:
			err = e.enter(i, seen)
		case e.order.Try:
			return waited, e.busy(e.order.Places[i], seen.line, v)
		default:
			waited = true
			err = e.awaitTurn(ctx, i, seen, v, &known)
		}
		switch {
		case errors.Is(err, errLook):
			rest = pause{}
		case again(err):
			rest.wait(ctx)
		default:
			return waited, err
		}
		seen = nil
	}
}

// view returns seen or, if that is nil, a new listing of the line at place i.
func (e *Entry) view(ctx context.Context, i int, seen *view) (*view, error) {
	st, err := e.c.Await(ctx)
	if err != nil {
		return nil, err
	}
	if st.Session != e.session {
		return nil, errAgain
	}
	if seen == nil {
		seen = e.list(i)
	}
	return seen, seen.err
}

// decide applies the rule of place i to a listing and records the entry's position.
func (e *Entry) decide(i int, seen *view) (Verdict, error) {
	if znode.Exhausted(seen.line, seen.own) {
		return Verdict{}, ErrExhausted
	}
	if err := e.mixed(e.order.Places[i].Parent, seen.line, seen.own); err != nil {
		return Verdict{}, err
	}
	v := e.order.Places[i].Rule(seen.line, seen.own)
	e.place.Store(int32(v.place(seen.own)))
	return v, e.limits(seen.line, seen.own)
}

// enter takes the turn that a listing has shown, unless the session has ended.
func (e *Entry) enter(i int, seen *view) error {
	if err := e.confirmAlive(i); err != nil {
		return err
	}
	e.announce(seen.line, seen.own)
	return nil
}

// awaitTurn waits until the verdict on a listing may have changed: for the end of one
// node, or for any change of the line. It returns what block returns.
func (e *Entry) awaitTurn(ctx context.Context, i int, seen *view, v Verdict, known *blocked) error {
	if !v.Crowd {
		err := e.block(ctx, i, seen, v, known)
		if !errors.Is(err, errIn) {
			return err
		}
	}
	return e.waitForChange(ctx, i, seen, v, known)
}

// nodeAt returns the full path of a node at place i.
func (e *Entry) nodeAt(i int, n znode.Name) string { return path.Join(e.order.Places[i].Parent, n.Raw) }

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

// blocked is the node that Order.Blocked got last.
type blocked struct {
	node string
	data []byte
	its  *conn.Watch // the last one on a blocker, which this entry uses once
}

// follows records the watch that was set last, and leaves the one before.
func (k *blocked) follows(c *conn.Conn, w *conn.Watch) {
	c.Leave(k.its) // also if it is the same: it was counted twice
	k.its = w
}

// ctxEnd marks an error as the end of a ctx, because its cause may be any error.
type ctxEnd struct{ cause error }

func (e ctxEnd) Error() string { return fmt.Sprint(e.cause) }
func (e ctxEnd) Unwrap() error { return e.cause }

func isCtx(err error) bool {
	var c ctxEnd
	return errors.As(err, &c)
}
