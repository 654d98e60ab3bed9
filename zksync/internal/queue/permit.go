package queue

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Fits is the rule of permits: it is a permit's turn when the weights of all permits
// up to and including it add up to at most the limit. Where the limits differ, the
// smallest one up to ours counts. Nodes of other kinds don't count: they would take
// permits away.
//
// The first permit that does not fit has to see every change of the line: if it
// watched one holder, the release of another holder would leave a permit unused. Each
// permit behind it watches the waiting permit before it, which touches its own node
// when it gets in.
func Fits(line []znode.Name, own int) Verdict {
	limit, sum := int64(math.MaxInt64), int64(0)
	waits, last, place := -1, -1, 0
	for i, n := range line[:own+1] {
		if n.Kind != znode.Permit {
			continue
		}
		limit = min(limit, n.Limit)
		if sum += n.Weight; sum < 0 {
			sum = math.MaxInt64
		}
		if sum <= limit {
			last = i
			continue
		}
		place++
		switch {
		case i < own:
			waits = i
		case waits >= 0:
			return Verdict{Watch: waits, Place: place}
		default:
			return Verdict{Watch: last, Crowd: true, Place: place}
		}
	}
	return Verdict{Held: true}
}

// errIn: the waiting permit that is watched has got in already.
var errIn = errors.New("the waiter before has got in")

// limits reports limits that differ from ours.
func (e *Entry) limits(line []znode.Name, own int) error {
	if line[own].Kind != znode.Permit {
		return nil
	}
	smallest, differ := line[own].Limit, false
	for _, n := range line[:own] {
		if n.Kind == znode.Permit && n.Limit != line[own].Limit {
			smallest, differ = min(smallest, n.Limit), true
		}
	}
	switch {
	case !differ:
		return nil
	case e.order.Strict:
		return ErrLimit
	case e.order.Limits != nil:
		e.order.Limits(smallest)
	}
	return nil
}

// waitForChange waits for any change of the line at place i, which was listed at the
// time looked.
func (e *Entry) waitForChange(ctx context.Context, i int, line []znode.Name, own int, v Verdict, looked time.Time, told *told) error {
	p := e.order.Places[i]
	w, err := e.c.WatchChildren(p.Parent)
	if errors.Is(err, zk.ErrNoNode) {
		return errAgain
	}
	if err != nil {
		return err
	}
	if over, _ := w.Over(); over {
		return errLook
	}
	if !w.Since.Before(looked) && !slices.EqualFunc(e.parse(p, w.Names), line,
		func(a, b znode.Name) bool { return a.Raw == b.Raw }) {
		return errLook // something has happened between the listing and the watch
	}
	wo, err := e.watchOwn(i)
	if err != nil {
		return err
	}
	if v.Crowd && e.order.Others != nil {
		e.order.Others(e.othersWait(line))
	}
	if v.Watch >= 0 && e.order.Blocked != nil {
		if node := path.Join(p.Parent, line[v.Watch].Raw); told.node != node {
			told.node, told.data = node, nil
			e.order.Blocked(Blocker{Path: node, Place: v.place(own)})
		}
	}
	poll := time.NewTicker(max(e.c.Timeout(), time.Second))
	defer poll.Stop()
	select {
	case <-w.Done():
	case <-wo.Done():
	case <-poll.C:
		// No holder is watched by itself. The others leave at some time, so that a
		// node that never leaves gets to the front.
		e.stays(path.Join(p.Parent, firstPermit(line).Raw), nil)
	case <-ctx.Done():
		return ctxEnd{context.Cause(ctx)}
	}
	return errLook
}

func firstPermit(line []znode.Name) znode.Name {
	return line[slices.IndexFunc(line, func(n znode.Name) bool { return n.Kind == znode.Permit })]
}

// announce tells the permit behind ours, if there is one, that ours has got in: it may
// watch our node for that. The write is repeated until it is done, as a deletion is.
func (e *Entry) announce(line []znode.Name, own int) {
	if line[own].Kind != znode.Permit {
		return
	}
	for _, n := range line[own+1:] {
		if n.Kind == znode.Permit {
			go e.touch(e.nodes[0])
			return
		}
	}
}

// touch writes the node's data again, at the version of a node that nobody has written
// to. If the version is another one, an earlier write has told already.
func (e *Entry) touch(node string) {
	for p := (pause{}); ; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil || st.Session != e.session {
			return // the node goes with its session, and that tells, too
		}
		said, _ := e.saidAt()
		stats, _, err := e.c.SetAll([]string{node}, [][]byte{said}, []int32{0})
		if err == nil && e.Node() == node {
			e.setSaid(said, stats[0].Version)
		}
		if conn.Classify(err) == conn.Answered || errors.Is(err, conn.ErrClosed) {
			return
		}
	}
}

// Shrink replaces the node of a held permit by a node of a smaller weight, in the same
// position and with the same data, in one step. Shrink asks rest for the weight when
// no other call replaces or deletes nodes; if the weight is 0, or has not changed,
// there is nothing to do. It returns conn.ErrNodeGone or conn.ErrSessionOver if the
// permit is lost. If the server refuses, Shrink returns the refusal, the permit keeps
// its weight, and the next call tries again.
func (e *Entry) Shrink(rest func() int64) error {
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
	unknown := false
	for again := (pause{}); ; again.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return err
		}
		if st.Session != e.session {
			return conn.ErrSessionOver
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
			// Somebody has written to the node meanwhile: we, or somebody who asks
			// for the permit. No earlier try has made the other node: the
			// transaction creates it first, and would have failed with that.
			e.either(old)
			unknown = false
			now, st, err := e.c.Get(old)
			switch {
			case err == nil:
				e.setSaid(now, st.Version)
			case !errors.Is(err, zk.ErrNoNode) && conn.Classify(err) == conn.Answered:
				return err // we may not read the data, so that we can't copy it
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
	e.left, e.last, e.node = e.nodes, node, node
	e.mu.Unlock()
}

// replaced finds out which node stands, if a try to replace it was refused after a try
// whose answer was lost. If the server refuses to answer, that try counts as the
// reason for a missing node.
func (e *Entry) replaced() error {
	for p := (pause{}); len(e.Left()) > 1; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return err
		}
		if st.Session != e.session {
			return conn.ErrSessionOver
		}
		node := e.Left()[1]
		if _, err = e.c.Sync(e.order.Places[0].Parent); err == nil { // else a server that lags might not know it
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
