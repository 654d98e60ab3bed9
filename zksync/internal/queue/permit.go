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
	"github.com/zklocker/go-zksync/zksync/internal/defect"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Fits is the rule of permits: the weights of all permits up to and including
// ours come to at most the limit. Where the limits differ, the smallest up to
// ours counts. Nodes of other kinds are none of its business (lesson 19).
//
// The first one that does not fit has to see every change of the line, because
// any holder's end may be enough (lesson 17). Those behind it watch the one that
// waits before them, which touches its own node when it gets in.
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
			return Verdict{Watch: last, Crowd: !defect.On(defect.OneHolder), Place: place}
		}
	}
	return Verdict{Held: true}
}

// errIn: the one that is watched has got in already.
var errIn = errors.New("the waiter before has got in")

// limits complains of limits that differ from ours.
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

// mill waits for any change of the line at place i, which was listed at the time
// looked.
func (e *Entry) mill(ctx context.Context, i int, line []znode.Name, own int, v Verdict, looked time.Time, told *string) error {
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
	if v.Watch >= 0 && e.order.Blocked != nil {
		if node := path.Join(p.Parent, line[v.Watch].Raw); *told != node {
			*told = node
			e.order.Blocked(Blocker{Path: node, Place: v.place(own)})
		}
	}
	poll := time.NewTicker(max(e.c.Timeout(), time.Second))
	defer poll.Stop()
	select {
	case <-w.Done():
	case <-wo.Done():
	case <-poll.C:
		// Of those that hold none is watched by itself. The others leave in time: a
		// node that never does gets to the front.
		e.stays(path.Join(p.Parent, firstPermit(line).Raw), nil)
	case <-ctx.Done():
		return ctxEnd{context.Cause(ctx)}
	}
	return errLook
}

func firstPermit(line []znode.Name) znode.Name {
	return line[slices.IndexFunc(line, func(n znode.Name) bool { return n.Kind == znode.Permit })]
}

// announce tells the permit behind, if there is one, that ours has got in: it
// may watch our node for that. It is told until it has been, as a deletion is.
func (e *Entry) announce(line []znode.Name, own int) {
	if line[own].Kind != znode.Permit || defect.On(defect.TouchLost) {
		return
	}
	for _, n := range line[own+1:] {
		if n.Kind == znode.Permit {
			go e.touch(e.nodes[0])
			return
		}
	}
}

func (e *Entry) touch(node string) {
	for p := (pause{}); ; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil || st.Session != e.session {
			return // the node goes with its session, which tells as well
		}
		if _, err := e.c.Set(node, e.order.Data); conn.Classify(err) == conn.Answered || errors.Is(err, conn.ErrClosed) || defect.On(defect.TouchOnce) {
			return
		}
	}
}

// Shrink replaces the node of a permit that is held by one of a smaller weight,
// in the same place: nobody sees neither. rest tells the weight when it is the
// call's turn; at 0, or with no change, there is nothing to do. It returns
// conn.ErrNodeGone or conn.ErrSessionOver if the permit is lost.
func (e *Entry) Shrink(rest func() int64) error {
	defer e.alter()()
	p := e.order.Places[0]
	weight := rest()
	if weight == 0 || weight == p.Weight {
		return nil // by Remove, or by another call
	}
	old := e.Node()
	seq := strings.TrimPrefix(path.Base(old), p.prefix(e.guid))
	p.Weight = weight
	node := path.Join(p.Parent, p.prefix(e.guid)+seq)
	e.mu.Lock()
	e.left = []string{old, node}
	e.mu.Unlock()
	unknown := false
	for again := (pause{}); ; again.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return err
		}
		if st.Session != e.session {
			return conn.ErrSessionOver
		}
		if defect.On(defect.ShrinkGap) {
			_, _ = e.c.Delete(old)
			_, _, _ = e.c.Create([]string{old}, nil, zk.FlagEphemeral, e.order.ACL) // for Replace to find
		}
		ran, err := e.c.Replace(old, node, e.order.Data, e.order.ACL)
		switch {
		case err == nil && ran.Session() != e.session:
			return conn.ErrSessionOver
		case err == nil, errors.Is(err, zk.ErrNodeExists) && unknown:
			e.order.Places = []Place{p}
			e.nodes = []string{node}
			e.mu.Lock()
			e.left, e.last, e.node = e.nodes, node, node
			e.mu.Unlock()
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return conn.ErrNodeGone
		case errors.Is(err, conn.ErrClosed), conn.Classify(err) == conn.Answered:
			return err
		}
		unknown = true
	}
}
