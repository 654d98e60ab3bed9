package queue

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Shrink replaces the node of a held permit by a node of a smaller weight, in the same
// position and with the same data, in one step. Shrink asks rest for the weight when
// no other call replaces or deletes nodes; if the weight is 0, or has not changed,
// there is nothing to do. It returns conn.ErrNodeGone or conn.ErrSessionOver if the
// permit is lost. If the server refuses, Shrink returns the refusal, the permit keeps
// its weight, and the next call tries again. sent is that of Remove.
func (e *Entry) Shrink(rest func() int64, sent func()) error {
	defer e.alter()()
	if err := e.replaced(); err != nil {
		return err
	}
	p := e.order.Places[0]
	weight := rest()
	if weight == 0 || weight == p.Weight {
		return nil // by Remove, or by another call
	}
	old := e.Node()
	seq := strings.TrimPrefix(path.Base(old), p.prefix(e.guid))
	p.Weight = weight
	node := path.Join(p.Parent, p.prefix(e.guid)+seq)
	if sent != nil {
		defer e.c.Sent(node, sent)()
	}
	return e.replace(old, node)
}

// replace replaces the permit's node, and records which node stands.
func (e *Entry) replace(old, node string) error {
	unknown := false
	for again := (pause{}); ; again.wait(e.c.Life()) {
		if err := e.awaitSession(context.Background()); err != nil {
			return err
		}
		data, version := e.saidAt()
		e.either(old, node)
		ran, err := e.c.Replace(old, version, node, data, e.order.ACL)
		unknown = unknown || conn.Classify(err) == conn.Unknown
		if err != nil && !unknown {
			e.either(old) // nothing was done
		}
		switch {
		case err == nil && ran.Session() != e.session:
			return conn.ErrSessionOver
		case err == nil, errors.Is(err, zk.ErrNodeExists) && unknown:
			e.shrunk(node)
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return conn.ErrNodeGone
		case errors.Is(err, zk.ErrBadVersion):
			// No earlier try has made the other node: the transaction creates it
			// first, and would have failed with that.
			e.either(old)
			unknown = false
			if err := e.reread(old); err != nil {
				return err
			}
		case errors.Is(err, conn.ErrClosed):
			return err
		case conn.Classify(err) == conn.Answered:
			if e.replaced() == nil && e.Node() == node {
				return nil // by an earlier try
			}
			return err
		}
	}
}

// reread records the data and the version of the permit's node after somebody has
// written to it: this entry, or somebody who asks for the permit. It returns an error
// only if the server refuses to show the data, which then can't be copied.
func (e *Entry) reread(node string) error {
	now, st, err := e.c.Get(node)
	switch {
	case err == nil:
		e.setSaid(now, st.Version)
	case !errors.Is(err, zk.ErrNoNode) && conn.Classify(err) == conn.Answered:
		return err
	}
	return nil
}

// either records the nodes of which one stands for the permit.
func (e *Entry) either(nodes ...string) {
	e.mu.Lock()
	e.left = nodes
	e.mu.Unlock()
}

// shrunk records that a node has replaced the permit's.
func (e *Entry) shrunk(node string) {
	name, _ := znode.Parse(path.Base(node))
	p := e.order.Places[0]
	p.Weight = name.Weight
	e.order.Places = []Place{p}
	e.mu.Lock()
	e.nodes = []string{node}
	e.data.standing(e.data.said, 1)
	e.left, e.last = e.nodes, node
	e.mu.Unlock()
}

// replaced finds out which node stands, if a try to replace it was refused after a try
// whose answer was lost. If the server refuses to answer, that try counts as the
// reason for a missing node.
func (e *Entry) replaced() error {
	for p := (pause{}); len(e.Left()) > 1; p.wait(e.c.Life()) {
		if err := e.awaitSession(context.Background()); err != nil {
			return err
		}
		node := e.Left()[1]
		_, err := e.c.Sync(e.order.Places[0].Parent) // a server that lags might not know the node
		if err == nil {
			_, _, err = e.c.Stat(node)
		}
		switch {
		case err == nil:
			e.shrunk(node)
		case errors.Is(err, zk.ErrNoNode):
			e.either(e.Node())
		case errors.Is(err, conn.ErrClosed), conn.Classify(err) == conn.Answered:
			e.torn = true
			return err
		}
	}
	return nil
}
