package queue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Stand gets in line and waits for the entry's turn. When it returns nil, the nodes
// exist, the session lives, and nobody else who follows the rule can hold the lock
// before Remove. Otherwise it returns an error. In both cases Remove has to be called
// in the end.
//
// An entry whose node is deleted while it waits stands in line again. An entry with
// Order.Try does so once: after that the error is conn.ErrNodeGone, or
// conn.ErrSessionOver if the session ended meanwhile.
func (e *Entry) Stand(ctx context.Context) error {
	if len(e.order.Places) > 1 {
		// All later requests for the nodes are smaller than the one that makes
		// them, which has the path, the data and the access list of each node.
		// Another call may take the nodes over, with more data.
		if err := e.c.CanCreate(e.paths(znode.GUID{}), mostData(e.order.Data), e.order.ACL); err != nil {
			return err
		}
	}
	if e.order.After != nil {
		e.order.After(ctx)
		e.order.After = nil // frees the memory of the calls that came before
	}
	if e.order.Try {
		if err := e.look(ctx); err != nil {
			return err
		}
	}
	return e.stand(ctx, e.create(ctx))
}

// stand waits for the entry's turn. err is that of create.
func (e *Entry) stand(ctx context.Context, err error) error {
	for last := false; ; last = e.order.Try {
		if err == nil {
			err = e.wait(ctx)
		}
		if err == nil {
			e.succeeded()
			return nil
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		if st, _ := e.c.State(); e.order.Try && st.Session != e.session {
			return fmt.Errorf("%w: %w", conn.ErrSessionOver, zk.ErrSessionExpired)
		}
		if last {
			return fmt.Errorf("%w: %s", conn.ErrNodeGone, e.Last())
		}
		// The nodes are gone or must go; the next attempt has its own names.
		if err := e.Remove(nil); errors.Is(err, conn.ErrClosed) {
			return err
		}
		err = e.create(ctx)
	}
}

// BusyError is ErrBusy with the node that is in the way, if it is one node.
type BusyError struct {
	Node string
	Of   any // Order.Of of the entry of this process that answers for the node; nil if there is none
}

func (e *BusyError) Error() string { return ErrBusy.Error() }
func (e *BusyError) Unwrap() error { return ErrBusy }

// busy returns the refusal of an entry that does not wait.
func (e *Entry) busy(p Place, line []znode.Name, v Verdict) error {
	if v.Watch < 0 {
		return ErrBusy
	}
	n := line[v.Watch]
	busy := &BusyError{Node: path.Join(p.Parent, n.Raw)}
	if o := ownerOf(n); o != nil {
		busy.Of = o.order.Of
	}
	return busy
}

// look returns ErrBusy if standing in line would be in vain. It runs before any node
// is made, so that a refusal costs one read and leaves no trace.
func (e *Entry) look(ctx context.Context) error {
	for _, p := range e.order.Places {
		if p.Kazoo {
			continue
		}
		for rest := (pause{}); ; rest.wait(ctx) {
			if _, err := e.c.Await(ctx); err != nil {
				return err
			}
			names, _, err := e.c.Children(p.Parent)
			if errors.Is(err, zk.ErrNoNode) {
				break
			}
			if conn.Classify(err) != conn.Answered {
				if errors.Is(err, conn.ErrClosed) {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			line := append(e.parse(p, names), znode.Name{Kind: p.Kind, Weight: p.Weight, Limit: p.Limit})
			if err := e.mixed(p.Parent, line, len(line)-1); err != nil {
				return err
			}
			if v := p.Rule(line, len(line)-1); !v.Held {
				e.place.Store(int32(v.place(len(line) - 1)))
				return e.busy(p, line, v)
			}
			break
		}
	}
	return nil
}

// wait waits for the turn in each place. The order does not matter: a position in
// line only gets better.
func (e *Entry) wait(ctx context.Context) error {
	began, _ := e.c.State()
	start, waited := time.Now(), false
	if e.beside != nil {
		began, start = e.ran.Before, e.beside.create.Sent()
	}
	seen := e.firstViews()
	if len(e.nodes) == 1 {
		_, err := e.walk(ctx, 0, seen[0])
		return err
	}
	e.listAll(ctx, seen)
	for i, p := range e.order.Places {
		if p.Kazoo {
			continue // its node was made together with that of the place before: no node is between
		}
		w, err := e.walk(ctx, i, seen[i])
		if err != nil {
			return err
		}
		if waited = waited || w; waited {
			clear(seen) // too old
		}
	}
	ends, _ := e.c.State()
	// Each place was seen at its own time. quick: all were seen within a short time,
	// on one connection.
	quick := !waited && began.Up && ends.Epoch == began.Epoch && time.Since(start) < e.c.Timeout()/6
	if quick {
		return nil
	}
	for p := (pause{}); ; p.wait(ctx) {
		if _, err := e.c.Await(ctx); err != nil {
			return err
		}
		err := e.c.Prove(e.session, e.nodes...)
		switch {
		case errors.Is(err, conn.ErrSessionOver), errors.Is(err, conn.ErrNodeGone):
			return errAgain
		case !again(err):
			return err
		}
	}
}
