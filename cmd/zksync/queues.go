package main

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// queues is [zksync.Session.Queues], which ends at the first path that may not be listed,
// but goes on beside it: a path below root that may not be listed is a pair of a Queue with
// nothing but the Path and an error that Is zksync.ErrNoAuth. The order is another one then.
func (o *operator) queues(ctx context.Context, root string) iter.Seq2[zksync.Queue, error] {
	return func(yield func(zksync.Queue, error) bool) {
		w := &sideways{o: o, seen: make(map[string]bool), yield: yield}
		w.walk(ctx, root, true)
	}
}

// sideways is a walk that goes around what may not be listed.
type sideways struct {
	o     *operator
	seen  map[string]bool // the queues that were passed on
	yield func(zksync.Queue, error) bool
}

// walk passes on the queues at a path and below it. It returns whether to go on.
func (w *sideways) walk(ctx context.Context, at string, top bool) bool {
	for q, err := range w.o.session.Queues(ctx, at) {
		switch {
		case errors.Is(err, zksync.ErrNoAuth):
			return w.around(ctx, at, top)
		case err != nil:
			w.yield(q, err)
			return false
		case !w.pass(q):
			return false
		}
	}
	return true
}

// pass passes on a queue, once.
func (w *sideways) pass(q zksync.Queue) bool {
	if w.seen[q.Path] {
		return true
	}
	w.seen[q.Path] = true
	return w.yield(q, nil)
}

// around walks each child of a path by itself, because something there is refused.
func (w *sideways) around(ctx context.Context, at string, top bool) bool {
	q, err := w.at(ctx, at)
	switch {
	case errors.Is(err, zksync.ErrNoAuth) && !top:
		return w.yield(zksync.Queue{Path: at}, err)
	case err != nil:
		w.yield(zksync.Queue{}, err)
		return false
	case len(q.Nodes) > 0 && !w.pass(q):
		return false
	}
	for _, n := range slices.Sorted(slices.Values(q.Other)) {
		if !w.walk(ctx, path.Join(at, n), false) {
			return false
		}
	}
	return true
}

// at reads the queue at a path. The root has none, but children.
func (w *sideways) at(ctx context.Context, at string) (zksync.Queue, error) {
	if at != "/" {
		return w.o.session.Inspect(ctx, at)
	}
	_, chroot, err := w.o.serverList()
	if err != nil {
		return zksync.Queue{}, err
	}
	children, err := ask(ctx, w.o, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path.Join("/", chroot))
		return names, err
	})
	q := zksync.Queue{Path: at, Other: children}
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		err = &zksync.Error{Op: "inspect", Path: at, Err: zksync.ErrNoAuth}
	case errors.Is(err, zk.ErrNoNode):
		err = nil
	}
	if chroot == "" {
		q.Other = slices.DeleteFunc(q.Other, func(n string) bool { return n == "zookeeper" }) // ZooKeeper's own
	}
	return q, err
}
