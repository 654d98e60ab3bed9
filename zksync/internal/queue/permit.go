package queue

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Fits is the rule of permits: it is a permit's turn when the weights of all permits
// up to and including it add up to at most the limit. Where the limits differ, the
// smallest one up to ours counts. Nodes of other kinds don't count: they would take
// permits away. See Entry.mixed for those of other sessions.
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

// errIn reports that the waiting permit which is watched has got in already.
var errIn = errors.New("the waiter before has got in")

// limits returns ErrLimit, or calls Order.Limits, if permits before ours have another
// limit.
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

// waitForChange waits for any change of the line at place i since it was listed.
func (e *Entry) waitForChange(ctx context.Context, i int, seen *view, v Verdict, known *blocked) error {
	w, err := e.watchLine(i, seen) // it reports the end of our own node, too
	if err != nil {
		return err
	}
	e.reportWait(i, seen, v, known)
	poll := time.NewTicker(max(e.c.Timeout(), time.Second))
	defer poll.Stop()
	select {
	case <-w.Done():
	case <-poll.C:
		// No holder is watched by itself. The others leave at some time, so that a
		// node that never leaves gets to the front.
		e.stays(path.Join(e.order.Places[i].Parent, firstPermit(seen.line).Raw), nil)
	case <-ctx.Done():
		return ctxEnd{context.Cause(ctx)}
	}
	return errLook
}

// watchLine watches the line at place i. It returns errLook if the line has changed
// since it was listed.
func (e *Entry) watchLine(i int, seen *view) (*conn.Watch, error) {
	p := e.order.Places[i]
	w, err := e.c.WatchChildren(p.Parent)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errAgain
	}
	if err != nil {
		return nil, err
	}
	if over, _ := w.Over(); over {
		return nil, errLook
	}
	if !w.Since.Before(seen.at) && !slices.EqualFunc(e.parse(p, w.Names), seen.line,
		func(a, b znode.Name) bool { return a.Raw == b.Raw }) {
		return nil, errLook // the line changed between the listing and the watch
	}
	return w, nil
}

// reportWait passes to Order.Others whether others wait, and to Order.Blocked the node
// that blocks ours, unless that got the same node last.
func (e *Entry) reportWait(i int, seen *view, v Verdict, known *blocked) {
	if v.Crowd && e.order.Others != nil {
		e.order.Others(e.othersWait(seen.line))
	}
	if v.Watch >= 0 && e.order.Blocked != nil {
		if node := path.Join(e.order.Places[i].Parent, seen.line[v.Watch].Raw); known.node != node {
			known.node, known.data = node, nil
			e.order.Blocked(Blocker{Path: node, Place: v.place(seen.own)})
		}
	}
}

func firstPermit(line []znode.Name) znode.Name {
	return line[slices.IndexFunc(line, func(n znode.Name) bool { return n.Kind == znode.Permit })]
}

// announce touches our node if a permit stands behind it: that permit may watch our node
// to learn that ours has got in. The write is repeated until it is done, like a deletion.
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
// to. If the version is another one, an earlier write has announced it already.
func (e *Entry) touch(node string) {
	for p := (pause{}); ; p.wait(e.c.Life()) {
		if e.awaitSession(context.Background()) != nil {
			return // the node vanishes with its session, and that ends the watch, too
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
