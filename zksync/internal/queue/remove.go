package queue

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// Remove deletes the entry's nodes and returns once they are known to be gone, which
// may take as long as the servers are away. It has no ctx: with the ctx of a cancelled
// call it would delete nothing, and the node would block the line until the session
// ends. It returns nil if the nodes stood until now. It returns conn.ErrNodeGone or
// conn.ErrSessionOver if they had gone before: then a lock was lost, unless the session
// was still alive when the lock was given back. It returns conn.ErrClosed if the
// connection was closed first, and the server's refusal if it does not delete them: see
// Kept.
//
// If it is unknown whether an attempt has made nodes, Remove finds that out first. If
// the server refuses to answer, the attempt stays open (see Open), and Remove may be
// called again.
//
// sent, if not nil, is called when the request that deletes the nodes, or the first of
// them, has been sent, if the connection reports that. It must not block, and may be called
// several times.
func (e *Entry) Remove(sent func()) error {
	defer e.alter()()
	if len(e.Open()) > 0 {
		if _, err := e.trace(); len(e.Open()) > 0 {
			if errors.Is(err, conn.ErrClosed) {
				e.disown()
			}
			return err
		}
	}
	if left := e.Left(); len(left) > 0 && sent != nil {
		defer e.c.Sent(left[0], sent)()
	}
	e.order.Census.leave(e.Left())
	if left := e.Left(); len(left) > 1 && e.removeAll(left, sent) {
		e.leaves(nil)
	}
	return e.removeLeft(false)
}

// removeLeft deletes the nodes that are left, one by one. unknown means that a deletion of
// the first of them was sent before, whose outcome is unknown.
func (e *Entry) removeLeft(unknown bool) error {
	var first error
	stood, perhaps := false, false
	for left := e.Left(); len(left) > 0; left = e.Left() {
		err := e.removeNode(left[0], e.torn, unknown)
		e.order.Census.gone(left[0], err)
		unknown = false
		stood = stood || err == nil
		if errors.Is(err, errTorn) {
			perhaps, err = true, nil
		}
		if first == nil {
			first = err
		}
		if errors.Is(err, conn.ErrClosed) {
			e.disown()
			return err
		}
		if err != nil && !isGone(err) {
			e.keeps(left[0])
		}
		e.leaves(left[1:])
	}
	if first == nil && stood && perhaps && len(e.nodes) > 1 {
		// One of the nodes stood, so the transaction that deletes all has not run:
		// another node had gone before.
		first = conn.ErrNodeGone
	}
	e.forget()
	return first
}

// isGone reports whether an error says that a node was gone before its deletion.
func isGone(err error) bool {
	return errors.Is(err, conn.ErrNodeGone) || errors.Is(err, conn.ErrSessionOver)
}

// RemoveSoon does the same as Remove if a single request does it, which it sends in the
// caller's goroutine. See conn.DeleteAsync for pace. It calls done with the result of
// Remove, once, perhaps before it returns. done must not block if that result is nil or says that the
// node or its session is gone, because it is then called by the goroutine that reads the
// answers.
//
// If more is to be done, or if nothing could be sent, RemoveSoon does nothing and returns
// false.
func (e *Entry) RemoveSoon(pace conn.Pace, done func(error)) bool {
	op := e.turn()
	select {
	case op <- struct{}{}:
	default:
		return false // the node is being replaced
	}
	if left := e.Left(); e.c.Ordered() && len(left) == 1 && len(e.nodes) == 1 && !e.torn && len(e.Open()) == 0 {
		e.order.Census.leave(left)
		err := e.c.DeleteAsync(left[0], pace, func(ran conn.Ran, err error) { e.soonRemoved(ran, err, done) })
		if err == nil {
			return true
		}
	}
	<-op
	return false
}

// soonRemoved handles the answer to a deletion of RemoveSoon.
func (e *Entry) soonRemoved(ran conn.Ran, answer error, done func(error)) {
	again, err := e.deleted(ran, answer, false, false)
	switch {
	case again, errors.Is(err, conn.ErrClosed):
		go func() {
			err := e.removeLeft(conn.Classify(answer) == conn.Unknown)
			<-e.turn()
			done(err)
		}()
		return
	case err != nil && !isGone(err):
		e.keeps(e.Left()[0])
		defer func() { go done(err) }()
	default:
		defer done(err)
	}
	e.order.Census.gone(e.Left()[0], err)
	e.leaves(nil)
	e.forget()
	<-e.turn()
}

// errTorn reports that the node is gone, and that a transaction of ours may have deleted it
// together with others.
var errTorn = errors.New("gone, perhaps by a transaction")

// removeAll deletes all nodes in one transaction, and reports whether it did. If it
// did not, the caller deletes them one by one: a transaction deletes nothing if one of
// its nodes is gone.
func (e *Entry) removeAll(nodes []string, sent func()) bool {
	if _, err := e.c.Await(context.Background()); err != nil {
		return false
	}
	ran, err := e.deleteAll(nodes, sent)
	if conn.Classify(err) == conn.Unknown {
		e.torn = true // this may have deleted the nodes that are gone
	}
	return err == nil && e.ranIt(ran)
}

// deleteAll requests the deletion of all nodes, and has the census know of it before a later
// answer comes. sent is that of Remove.
func (e *Entry) deleteAll(nodes []string, sent func()) (conn.Ran, error) {
	if !e.c.Ordered() {
		return e.c.DeleteAll(nodes)
	}
	ops := make([]any, len(nodes))
	for i, node := range nodes {
		ops[i] = &zk.DeleteRequest{Path: node, Version: -1}
	}
	b := e.c.Batch()
	k := b.Multi(ops...)
	k.Then(func() {
		if k.Err() == nil && e.ranIt(k.Ran()) {
			for _, node := range nodes {
				e.order.Census.gone(node, nil)
			}
		}
	})
	b.Send(context.Background()) // until it is written
	if !isDone(k) || conn.Classify(k.Err()) == conn.Answered {
		if sent != nil {
			sent()
		}
	}
	err := k.Wait(context.Background())
	return k.Ran(), err
}

// isDone reports whether a call is done.
func isDone(k *conn.Call) bool {
	select {
	case <-k.Done():
		return true
	default:
		return false
	}
}

// ranIt reports whether the session that owns the nodes has run a request.
func (e *Entry) ranIt(ran conn.Ran) bool {
	return ran.Before.Session == e.session && ran.After.Session == e.session
}

// removeNode deletes a node. torn means that an earlier transaction may have deleted it,
// and unknown that an earlier deletion may have done so.
func (e *Entry) removeNode(node string, torn, unknown bool) error {
	for p := (pause{}); ; p.wait(e.c.Life()) {
		if _, err := e.c.Await(context.Background()); err != nil {
			return err
		}
		ran, answer := e.c.Delete(node)
		if again, err := e.deleted(ran, answer, torn, unknown); !again {
			return err
		}
		if conn.Classify(answer) == conn.Unknown {
			unknown = true
		}
	}
}

// deleted returns what an answer to a deletion says of the node, or that the deletion has
// to be sent again. torn and unknown are those of removeNode.
func (e *Entry) deleted(ran conn.Ran, answer error, torn, unknown bool) (again bool, err error) {
	// With a program's client the next session may run a deletion that was requested under
	// this one.
	over := ran.Before.Session != e.session || ran.After.Session != e.session
	switch {
	case errors.Is(answer, conn.ErrClosed):
		return false, answer
	case conn.Classify(answer) != conn.Answered:
		return true, nil
	case over:
		return false, conn.ErrSessionOver
	case errors.Is(answer, zk.ErrNoNode) && unknown:
		return false, nil // deleted by an earlier try, whose answer was lost
	case errors.Is(answer, zk.ErrNoNode) && torn:
		return false, errTorn
	case errors.Is(answer, zk.ErrNoNode):
		return false, conn.ErrNodeGone
	}
	return false, answer // nil, or a refusal: the server would refuse each further request, too
}

// maxKept is the largest number of nodes remembered because they can't be deleted.
const maxKept = 100

// refused has the first nodes of one session that ZooKeeper has refused to delete.
type refused struct {
	session int64
	nodes   []string
}

// keeps records a node that ZooKeeper has refused to delete.
func (e *Entry) keeps(node string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept == nil || e.kept.session != e.session {
		e.kept = &refused{session: e.session}
	}
	if len(e.kept.nodes) < maxKept {
		e.kept.nodes = append(e.kept.nodes, node)
	}
}

// Kept returns the first 100 nodes that ZooKeeper has refused to delete, and their
// session: they go with it. It may be called at any time.
func (e *Entry) Kept() (session int64, nodes []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept == nil {
		return 0, nil
	}
	return e.kept.session, e.kept.nodes
}
