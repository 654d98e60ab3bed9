package queue

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// watchOwn does the same as readFence, and returns the watch. If our node is gone, the
// error is errAgain.
func (e *Entry) watchOwn(i int) (*conn.Watch, error) {
	w, err := e.c.Watch(e.nodes[i])
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, errAgain
	case err != nil:
		return nil, err
	case w.Stat.EphemeralOwner != e.session:
		return nil, errAgain
	}
	e.fence.Store(w.Stat.Czxid) // it grows even if the parent is deleted and made again
	return w, nil
}

// confirmAlive is the last check before a grant on a listing that shows our node: the
// session that owns the node lives, by the clock at this moment or by an answer of the
// quorum.
//
// A Hold is lost T/2 after the last answer, and its first probe is sent when it is
// granted. So there has to be time for the answer of that probe.
func (e *Entry) confirmAlive(i int) error {
	spare := time.Duration(0)
	if e.order.Fence {
		spare = e.c.Timeout() / 6
	}
	if e.c.AliveFor(e.session, spare) {
		return nil
	}
	err := e.c.Prove(e.session, e.nodes[i])
	if errors.Is(err, conn.ErrSessionOver) || errors.Is(err, conn.ErrNodeGone) {
		return errAgain
	}
	return err
}

// blocking is a wait for the end of the node that blocks ours at place i.
type blocking struct {
	e        *Entry
	i, place int         // place is our position in line
	blocker  string      // its full path
	sole     bool        // its end makes it our turn, and may show that without a read
	its, own *conn.Watch // on the blocker, and on our node if sole
}

// block waits at place i for the blocker. It returns nil if it is our turn, without a
// read, and errLook if walk has to decide again.
//
// Our own node is watched only if the turn may come without a read. Otherwise the list
// that decides it shows whether our node still stands.
func (e *Entry) block(ctx context.Context, i int, seen *view, v Verdict, known *blocked) error {
	b := blocking{e: e, i: i, place: v.place(seen.own), blocker: e.nodeAt(i, seen.line[v.Watch])}
	b.sole = v.Sole && e.c.Ordered() && !e.isKin(seen.line[v.Watch])
	turn, err := b.arm(known)
	switch {
	case err != nil:
		return err
	case turn:
		return e.confirmAlive(i)
	case b.gotIn():
		return errIn
	}
	e.stays(b.blocker, &b.its.Stat)
	if v.Sole {
		// The next in line keeps its session proven alive, so that its turn costs
		// no request.
		defer e.c.Guard(e.nodes[i:i+1], e.session, nil).Stop()
	}
	return b.wait(ctx, known)
}

// arm sets the watches. turn reports that the blocker is gone already and our node stands,
// which says as much as another list.
func (b *blocking) arm(known *blocked) (turn bool, err error) {
	var its *conn.Watch
	if b.sole {
		its, err = b.e.watchBoth(b.blocker, b.e.nodes[b.i])
	} else {
		its, err = b.e.c.Watch(b.blocker)
	}
	err = b.follow(known, its, err)
	if turn = errors.Is(err, errLook); !b.sole || err != nil && !turn {
		return false, err
	}
	if b.own, err = b.e.watchOwn(b.i); err != nil {
		return false, err
	}
	if turn && !b.e.fresh(b.own) {
		return false, errLook
	}
	return turn, nil
}

// ownDone is closed when the watch on our node is over.
func (b *blocking) ownDone() <-chan struct{} {
	if b.own == nil {
		return nil
	}
	return b.own.Done()
}

// missing reports whether the blocker is known to be gone, or our own node if nothing
// watches that.
func (b *blocking) missing() bool {
	_, _, err := b.e.c.Stat(b.blocker)
	if b.own == nil && !errors.Is(err, zk.ErrNoNode) {
		_, _, err = b.e.c.Stat(b.e.nodes[b.i])
	}
	return errors.Is(err, zk.ErrNoNode)
}

// wait waits for an event on one of the two nodes. If a node has only new data, wait
// watches it again: the line has not changed.
func (b *blocking) wait(ctx context.Context, known *blocked) error {
	e := b.e
	local := b.its.Stat.EphemeralOwner == e.session
	// The watches report every change. But go-zookeeper may fail to set them again
	// after a reconnect, and only logs that (its conn.go:649-653). So a read every T
	// checks the blocker. Somebody may have deleted a node of ours that is not watched.
	poll := time.NewTicker(max(e.c.Timeout(), time.Second))
	defer poll.Stop()
	for {
		select {
		case <-b.its.Done():
			switch {
			case b.its.Changed() && !b.permit(): // a permit that got in touches its node
				its, err := e.c.Watch(b.blocker)
				if err = b.follow(known, its, err); err != nil {
					return err
				}
			case b.sole && e.turned(b.its, b.own, local):
				return e.confirmAlive(b.i)
			default:
				return errLook
			}
		case <-b.ownDone():
			if !b.own.Changed() {
				return errLook
			}
			var err error
			if b.own, err = e.watchOwn(b.i); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctxEnd{context.Cause(ctx)}
		case <-poll.C:
			if b.missing() {
				return errLook
			}
		}
	}
}

// follow takes the result of a watch on the blocker, and passes the blocker to
// Order.Blocked unless that got the same node with the same data last.
func (b *blocking) follow(known *blocked, w *conn.Watch, err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return errLook // gone between the listing and now: there is nothing to wait for
	}
	if err != nil {
		return err
	}
	b.its = w
	known.follows(b.e.c, w)
	if !b.gotIn() && (known.node != b.blocker || !bytes.Equal(known.data, w.Data)) && b.e.order.Blocked != nil {
		known.node, known.data = b.blocker, w.Data
		b.e.order.Blocked(Blocker{Path: b.blocker, Data: w.Data, Stat: w.Stat, Place: b.place, Local: w.Stat.EphemeralOwner == b.e.session})
	}
	return nil
}

// permit reports whether the nodes are permits.
func (b *blocking) permit() bool { return b.e.order.Places[b.i].Kind == znode.Permit }

// gotIn reports whether the blocker is a permit that has got in, so that it does not
// block ours: it has touched its node.
func (b *blocking) gotIn() bool { return b.permit() && b.its.Stat.Version > 0 }

// stays reports a node before ours that belongs to no session. It is a mistake of the
// program that made it, and holds up the line until somebody removes it by hand. A nil
// stat costs a request.
func (e *Entry) stays(node string, stat *zk.Stat) {
	if e.order.Stays == nil {
		return
	}
	if stat == nil {
		st, _, err := e.c.Stat(node)
		if err != nil {
			return // there will be another look
		}
		stat = st
	}
	if stat.EphemeralOwner == 0 {
		e.order.Stays(node)
	}
}

// turned reports whether the end of the only blocker proves, without a read, that it
// is our turn. It does so under three conditions. The blocker was deleted and did not
// belong to our own session, whose nodes are deleted together in any order. Our own
// node was watched on the same connection, and that connection is still up. No event
// on our own node came before, on a feed that keeps the order: if each watch has its
// own channel, the order of the events is lost.
func (e *Entry) turned(wb, wo *conn.Watch, local bool) bool {
	_, deleted := wb.Over()
	over, _ := wo.Over()
	st, _ := e.c.State()
	return deleted && !local && !over && e.c.Ordered() && wb.Epoch == wo.Epoch &&
		st.Up && st.Epoch == wb.Epoch && st.Session == e.session
}
