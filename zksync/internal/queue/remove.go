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
// conn.ErrSessionOver if they had gone before, which means that a lock was lost;
// conn.ErrClosed if the connection was closed first; and the server's refusal if it
// does not delete them: see Kept.
//
// If it is unknown whether an attempt has made nodes, Remove finds that out first. If
// the server refuses to answer, the attempt stays open (see Open), and Remove may be
// called again.
func (e *Entry) Remove() error {
	defer e.alter()()
	if len(e.Open()) > 0 {
		if _, err := e.trace(); len(e.Open()) > 0 {
			return err
		}
	}
	if left := e.Left(); len(left) > 1 && e.removeAll(left) {
		for _, node := range left {
			e.order.Census.gone(node, nil)
		}
		e.leaves(nil)
	}
	var first error
	stood, perhaps := false, false
	for left := e.Left(); len(left) > 0; left = e.Left() {
		err := e.removeNode(left[0], e.torn)
		e.order.Census.gone(left[0], err)
		stood = stood || err == nil
		if errors.Is(err, errTorn) {
			perhaps, err = true, nil
		}
		if first == nil {
			first = err
		}
		if errors.Is(err, conn.ErrClosed) {
			return err
		}
		if err != nil && !errors.Is(err, conn.ErrNodeGone) && !errors.Is(err, conn.ErrSessionOver) {
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

// errTorn reports that the node is gone, and that a transaction of ours may have deleted it
// together with others.
var errTorn = errors.New("gone, perhaps by a transaction")

// removeAll deletes all nodes in one transaction, and reports whether it did. If it
// did not, the caller deletes them one by one: a transaction deletes nothing if one of
// its nodes is gone.
func (e *Entry) removeAll(nodes []string) bool {
	if _, err := e.c.Await(context.Background()); err != nil {
		return false
	}
	ran, err := e.c.DeleteAll(nodes)
	if conn.Classify(err) == conn.Unknown {
		e.torn = true // this may have deleted the nodes that are gone
	}
	return err == nil && ran.Before.Session == e.session && ran.After.Session == e.session
}

// removeNode deletes a node. torn means that an earlier transaction may have deleted it.
func (e *Entry) removeNode(node string, torn bool) error {
	unknown := false
	for p := (pause{}); ; p.wait(e.c.Life()) {
		if _, err := e.c.Await(context.Background()); err != nil {
			return err
		}
		ran, err := e.c.Delete(node)
		// The next session may run a deletion that was requested under this one.
		over := ran.Before.Session != e.session || ran.After.Session != e.session
		switch {
		case errors.Is(err, conn.ErrClosed):
			return err
		case over && conn.Classify(err) == conn.Answered:
			return conn.ErrSessionOver
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			if unknown {
				return nil // deleted by an earlier try, whose answer was lost
			}
			if torn {
				return errTorn
			}
			return conn.ErrNodeGone
		case conn.Classify(err) == conn.Answered:
			return err // the server would refuse each further request, too
		case conn.Classify(err) == conn.Unknown:
			unknown = true
		}
	}
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
	if e.kept.session != e.session {
		e.kept = refused{session: e.session}
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
	return e.kept.session, e.kept.nodes
}
