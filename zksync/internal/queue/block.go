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

// block waits at place i for the blocker. It returns nil if it is our turn, without a
// read, and errLook if walk has to decide again. If a node has only new data, block
// watches it again: the line has not changed.
func (e *Entry) block(ctx context.Context, i, place int, blocker string, sole bool, told *told) error {
	wb, err := e.watchBlocker(i, place, blocker, told)
	if err != nil {
		return err
	}
	wo, err := e.watchOwn(i)
	if err != nil {
		return err
	}
	if e.order.Places[i].Kind == znode.Permit && wb.Stat.Version > 0 {
		return errIn
	}
	local := wb.Stat.EphemeralOwner == e.session
	e.stays(blocker, &wb.Stat)
	if sole {
		// The next in line keeps its session proven alive, so that its turn costs
		// no request.
		defer e.c.Guard(e.nodes[i:i+1], e.session, nil).Stop()
	}
	// The watches report every change. But go-zookeeper may fail to set them again
	// after a reconnect, and only logs that (its conn.go:649-653). So a read every T
	// checks the blocker.
	poll := time.NewTicker(max(e.c.Timeout(), time.Second))
	defer poll.Stop()
	for {
		select {
		case <-wb.Done():
			switch {
			case wb.Changed() && e.order.Places[i].Kind != znode.Permit: // a permit that got in touches its node
				if wb, err = e.watchBlocker(i, place, blocker, told); err != nil {
					return err
				}
			case sole && e.turned(wb, wo, local):
				return e.confirmAlive(i)
			default:
				return errLook
			}
		case <-wo.Done():
			if !wo.Changed() {
				return errLook
			}
			if wo, err = e.watchOwn(i); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctxEnd{context.Cause(ctx)}
		case <-poll.C:
			if _, _, err := e.c.Stat(blocker); errors.Is(err, zk.ErrNoNode) {
				return errLook
			}
		}
	}
}

// watchBlocker watches the node that blocks ours at place i, and passes it to Blocked
// unless nothing has changed.
func (e *Entry) watchBlocker(i, place int, blocker string, told *told) (*conn.Watch, error) {
	w, err := e.c.Watch(blocker)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errLook // gone between the listing and now: there is nothing to wait for
	}
	if err != nil {
		return nil, err
	}
	in := e.order.Places[i].Kind == znode.Permit && w.Stat.Version > 0 // it has got in, and does not block us
	if !in && (told.node != blocker || !bytes.Equal(told.data, w.Data)) && e.order.Blocked != nil {
		told.node, told.data = blocker, w.Data
		e.order.Blocked(Blocker{Path: blocker, Data: w.Data, Stat: w.Stat, Place: place, Local: w.Stat.EphemeralOwner == e.session})
	}
	return w, nil
}

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
