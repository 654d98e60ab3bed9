package zksync

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"
	"sync"
)

// Queues returns an iterator over the queues at root and below it that have a lock node,
// one Queue at a time, as Inspect shows them but without Suspects. A queue comes before
// those below it, and neighbours come in the order of their names. Each use of the
// iterator looks anew.
//
// Queues lists every node below root, whatever its kind. Nothing is read beyond the first
// queue before the loop asks for the second: a program that breaks out has asked for
// nothing more. For a loop that goes on, Queues reads up to 64 paths ahead, so that their
// requests travel together; one that takes its time sees the later queues as they were
// then. It keeps these queues in memory, and the names of the children on the way down to
// them. A node that goes away meanwhile is left out.
//
// The root "/" is all that the session can lock: everything below its chroot, or without
// one everything but /zookeeper.
//
// A failed request ends the loop: the last pair has a zero Queue and the error, an *Error
// as Inspect's. In all other pairs the error is nil. If root does not exist, there is no
// pair.
func (s *Session) Queues(ctx context.Context, root string) iter.Seq2[Queue, error] {
	s.check()
	return func(yield func(Queue, error) bool) {
		full, err := s.fullRoot(root)
		if err == nil {
			err = s.walk(ctx, root, full, func(q Queue) bool { return yield(q, nil) })
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Queue{}, &Error{Op: "inspect", Path: root, Err: err})
		}
	}
}

// errStopped ends a walk whose caller wants no more.
var errStopped = errors.New("the loop has ended")

// ahead is how many queues a walk reads at a time, and how many nodes of them.
const ahead = 64

// walk passes the queues at a path and below it to yield, until that returns false: then
// the error is errStopped. It returns when nothing of it runs any more.
func (s *Session) walk(ctx context.Context, at, full string, yield func(Queue) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	w := walker{s: s, ctx: ctx, reads: make(gate, ahead), todo: []*visit{{at: at, full: full}}}
	defer w.running.Wait()
	defer cancel()
	most, empty := 1, 0
	for len(w.todo) > 0 {
		w.begin(most)
		v := w.todo[len(w.todo)-1]
		<-v.done
		w.todo = w.todo[:len(w.todo)-1]
		w.begun--
		if v.err != nil {
			return v.err
		}
		w.descend(v)
		if len(v.q.Nodes) > 0 {
			if !yield(v.q) {
				return errStopped
			}
		} else if empty++; empty < 8 {
			continue // the first queue may be near
		}
		most = min(2*most, ahead)
	}
	return nil
}

// walker is a walk down from a path.
type walker struct {
	s       *Session
	ctx     context.Context
	todo    []*visit // the next one is the last
	begun   int      // of todo
	reads   gate
	running sync.WaitGroup
}

// visit is a path of a walk.
type visit struct {
	at, full string
	done     chan struct{} // nil before it has begun; closed when q and err are set
	q        Queue
	err      error
}

// begin begins the next visit, and those after it while fewer than most have begun.
func (w *walker) begin(most int) {
	for i := len(w.todo) - 1; i >= 0 && len(w.todo)-i <= most; i-- {
		v := w.todo[i]
		if v.done != nil {
			continue
		}
		if i < len(w.todo)-1 && w.begun >= most {
			return
		}
		v.done = make(chan struct{})
		w.begun++
		w.running.Go(func() {
			defer close(v.done)
			v.q, v.err = w.s.queue(w.ctx, w.reads, v.at, v.full)
		})
	}
}

// descend adds the paths below a visit, which is over.
func (w *walker) descend(v *visit) {
	below := slices.Sorted(slices.Values(v.q.Other)) // what is yielded is the caller's
	for _, n := range slices.Backward(below) {
		child := path.Join(v.full, n)
		if child != "/zookeeper" { // ZooKeeper's own
			w.todo = append(w.todo, &visit{at: path.Join(v.at, n), full: child})
		}
	}
}

// queue reads the queue at a path. It is empty if the path does not exist.
func (s *Session) queue(ctx context.Context, g gate, at, full string) (Queue, error) {
	q := Queue{Path: at}
	var err error
	q.Nodes, q.Other, err = s.inspect(ctx, g, full)
	return q, err
}
