package zksync

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Observe returns an iterator over the leaders, as Leader shows them: the present one
// first, and then each new one, until the loop ends. A zero LockNode means that nobody
// stands for the election. Each use of the iterator begins anew.
//
// The body of the loop gets the latest leader: of several changes that follow each other
// faster than the body returns, or faster than the session hears of them, it gets the last.
// While the session is disconnected, the loop waits, and what it has missed shows when the
// connection is back. No pair tells of that, so that the answer may be out of date: what a
// leader does to others is protected by its fence, not by Observe. A change of a leader's
// data, such as a request to resign, is no new leader.
//
// A loop that waits has one watch, on the leader's node, or if there is none, on the path.
// A new leader costs two requests, and no other change of the line costs any, unless the
// session may not read the leader's node. One read every session timeout checks the watch.
// When the loop ends, the watch is removed after a session timeout.
//
// The last pair has a zero LockNode and the error, an *Error as Leader's, that ended the
// loop: also when ctx is done. In all other pairs the error is nil.
func (e *Election) Observe(ctx context.Context) iter.Seq2[LockNode, error] {
	e.check()
	return func(yield func(LockNode, error) bool) {
		o := leaderWatch{e: e}
		defer o.leave()
		var last *LockNode
		for {
			n, err := o.look(ctx)
			if err == nil && (last == nil || n.Node != last.Node || n.Fence != last.Fence) {
				if !yield(n, nil) {
					return
				}
				last = &n
			}
			if err == nil {
				err = o.wait(ctx)
			}
			if err != nil {
				yield(LockNode{}, &Error{Op: "observe", Path: e.m.path, Err: err})
				return
			}
		}
	}
}

// leaderWatch watches who leads. The zero value with an Election has no watch yet.
type leaderWatch struct {
	e    *Election
	w    *conn.Watch // whose end may be that of what look has found
	name znode.Name  // of the leader's node if w is a watch on that
}

// look returns the leader's node, and a zero one if there is none. It sets a watch that
// ends when that changes.
func (o *leaderWatch) look(ctx context.Context) (LockNode, error) {
	if o.w != nil && o.w.Changed() && o.name.Raw != "" { // of the line nothing has changed
		if n, found, err := o.first(ctx, []znode.Name{o.name}); found || err != nil {
			return n, err
		}
	}
	for p := (queue.Pause{}); ; p.Wait(ctx) {
		line, there, err := o.e.line(ctx)
		if err == nil && len(line) == 0 {
			if line, err = o.none(ctx, there); err == nil && line == nil {
				return LockNode{}, nil
			}
		}
		if err != nil {
			return LockNode{}, err
		}
		if n, found, err := o.first(ctx, line); found || err != nil {
			return n, err
		}
	}
}

// first returns the first node of a line that still exists, and watches it.
func (o *leaderWatch) first(ctx context.Context, line []znode.Name) (n LockNode, found bool, err error) {
	for _, name := range line {
		n = newLockNode(path.Join(o.e.m.full, name.Raw), name)
		err = o.watch(ctx, func(c *conn.Conn) (*conn.Watch, error) { return c.Watch(n.Node) })
		switch {
		case err == nil:
			o.name = name
			n.read(o.w.Data, &o.w.Stat)
			n.Held = true
			return n, true, nil
		case errors.Is(err, zk.ErrNoAuth):
			return o.unreadable(ctx, name)
		case !errors.Is(err, zk.ErrNoNode):
			return LockNode{}, false, err
		}
	}
	return LockNode{}, false, nil
}

// unreadable does the same as first for a node that the session may not read, and so may
// not watch: it watches the line.
func (o *leaderWatch) unreadable(ctx context.Context, name znode.Name) (n LockNode, found bool, err error) {
	err = o.watch(ctx, func(c *conn.Conn) (*conn.Watch, error) { return c.WatchChildren(o.e.m.full) })
	if err == nil && slices.Contains(o.w.Names, name.Raw) {
		n, err = o.e.node(ctx, name)
		found = err == nil
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return n, found, err
}

// none watches for the first who stands, after a list that has shown nobody. It returns a
// line that is not nil if there is somebody, or something to list, by now.
func (o *leaderWatch) none(ctx context.Context, there bool) ([]znode.Name, error) {
	full := o.e.m.full
	err := o.watch(ctx, func(c *conn.Conn) (*conn.Watch, error) {
		if there {
			return c.WatchChildren(full)
		}
		return c.WatchCreation(full)
	})
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && !there && o.w.Stat.Czxid != 0:
		return []znode.Name{}, nil
	case err != nil:
		return nil, err
	}
	return o.e.parse(o.w.Names), nil
}

// watch replaces the watch.
func (o *leaderWatch) watch(ctx context.Context, set func(c *conn.Conn) (*conn.Watch, error)) error {
	var (
		mu   sync.Mutex
		w    *conn.Watch
		over bool // nobody waits for the answer any more
	)
	c := o.e.m.s.conn
	err := o.e.m.s.ask(ctx, func() error {
		got, err := set(c)
		mu.Lock()
		defer mu.Unlock()
		if over {
			c.Leave(got)
			return err
		}
		w = got
		return err
	})
	mu.Lock()
	defer mu.Unlock()
	over = true
	if err != nil {
		c.Leave(w)
		return err
	}
	o.leave()
	o.w, o.name = w, znode.Name{}
	return nil
}

func (o *leaderWatch) leave() {
	o.e.m.s.conn.Leave(o.w)
	o.w = nil
}

// wait waits until the leader may have changed.
func (o *leaderWatch) wait(ctx context.Context) error {
	s := o.e.m.s
	ctx, done := s.during(ctx)
	defer done()
	poll := time.NewTicker(max(s.Timeout(), time.Second))
	defer poll.Stop()
	for {
		select {
		case <-o.w.Done():
			return nil
		case <-ctx.Done():
			return s.mapErr(ctx, context.Cause(ctx))
		case <-poll.C:
		}
		if o.name.Raw == "" {
			return nil // another list, which is short or all that there is to see
		}
		err := s.ask(ctx, func() error {
			_, _, err := s.conn.Stat(path.Join(o.e.m.full, o.name.Raw))
			return err
		})
		if err != nil && !errors.Is(err, zk.ErrNoAuth) {
			return nil // look finds out
		}
	}
}
