package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

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
			return waited, ErrBusy
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

// view is a line as it was listed. If there was no answer, line is nil. If our node
// was not in it, err is errAgain.
type view struct {
	line []znode.Name
	own  int       // the index of our node
	at   time.Time // when the request was sent
	err  error
}

// list lists the line at place i.
func (e *Entry) list(i int) *view {
	v := &view{at: time.Now()}
	p := e.order.Places[i]
	var fence chan error
	if e.order.Fence && i == 0 && e.fence.Load() == 0 {
		fence = make(chan error, 1) // beside the listing, not after it
		go func() { fence <- e.readFence(i) }()
	}
	names, ran, err := e.c.Children(p.Parent)
	if fence != nil {
		if ferr := <-fence; err == nil && ferr != nil {
			err = ferr
		}
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		v.err = errAgain // our node is gone, with its parent or without
	case errors.Is(err, conn.ErrClosed), errors.Is(err, errAgain):
		v.err = err
	case conn.Classify(err) != conn.Answered:
	case err != nil:
		v.err = err
	case ran.Session() == e.session:
		v.err = v.find(e.parse(p, names), path.Base(e.nodes[i]))
	}
	return v
}

// find stores the line and the index of our node in it.
func (v *view) find(line []znode.Name, mine string) error {
	for own := range line {
		if line[own].Raw == mine {
			v.line, v.own = line, own
			return nil
		}
	}
	return errAgain // without our node it is not our turn, even if the line is empty
}

// readFence sets a watch on our own node; the answer has its czxid, the fence.
func (e *Entry) readFence(i int) error {
	_, err := e.watchOwn(i)
	return err
}

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

// told is the node that Blocked got last.
type told struct {
	node string
	data []byte
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

// ctxEnd marks an error as the end of a ctx, because its cause may be any error.
type ctxEnd struct{ cause error }

func (e ctxEnd) Error() string { return fmt.Sprint(e.cause) }
func (e ctxEnd) Unwrap() error { return e.cause }

func isCtx(err error) bool {
	var c ctxEnd
	return errors.As(err, &c)
}
