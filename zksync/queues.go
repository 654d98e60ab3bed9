package zksync

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"
)

// Queues returns an iterator over the queues at root and below it that have a lock node,
// one Queue at a time, as Inspect shows them but without Suspects. A queue comes before
// those below it, and neighbours come in the order of their names. Each use of the
// iterator looks anew.
//
// Queues lists every node below root, whatever its kind, and reads each queue when its
// turn comes. It keeps one queue in memory, and the names of the children on the way down
// to it. Nothing is read ahead: a program that breaks out of the loop has asked for
// nothing more, and one that takes its time sees the later queues as they are then. A
// node that goes away meanwhile is left out.
//
// A failed request ends the loop: the last pair has a zero Queue and the error, an *Error
// as Inspect's. In all other pairs the error is nil. If root does not exist, there is no
// pair.
func (s *Session) Queues(ctx context.Context, root string) iter.Seq2[Queue, error] {
	s.check()
	return func(yield func(Queue, error) bool) {
		full, err := s.fullPath(root)
		if err == nil {
			err = s.descend(ctx, root, full, func(q Queue) bool { return yield(q, nil) })
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Queue{}, &Error{Op: "inspect", Path: root, Err: err})
		}
	}
}

// errStopped ends a walk whose caller wants no more.
var errStopped = errors.New("the loop has ended")

// descend passes the queues at a path and below it to yield, until that returns false:
// then the error is errStopped.
func (s *Session) descend(ctx context.Context, at, full string, yield func(Queue) bool) error {
	q, err := s.queue(ctx, at, full)
	if err != nil {
		return err
	}
	below := slices.Sorted(slices.Values(q.Other)) // what is yielded is the caller's
	if len(q.Nodes) > 0 && !yield(q) {
		return errStopped
	}
	q = Queue{} // no more than one at a time
	for _, n := range below {
		if err := s.descend(ctx, path.Join(at, n), path.Join(full, n), yield); err != nil {
			return err
		}
	}
	return nil
}

// queue reads the queue at a path. It is empty if the path does not exist.
func (s *Session) queue(ctx context.Context, at, full string) (Queue, error) {
	q := Queue{Path: at}
	var err error
	q.Nodes, q.Other, err = s.inspect(ctx, full)
	return q, err
}
