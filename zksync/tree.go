package zksync

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Tree is all the queues below a path, and who waits for whom. It is a plain
// value, whose zero value is empty; copies share its slices. Nobody changes it:
// several goroutines may read it.
type Tree struct {
	Root   string
	Queues []Queue // that have a lock node, in the order of their paths
	// Waits has one Wait for each node that waits, if its owner is known: for the
	// nearest node before it that blocks it and whose owner is known. The node
	// waits as well for all others before it that it can't be beside.
	Waits []Wait
	// Cycles are the deadlocks: one for each set of owners who all wait for each
	// other, directly or through others, if possible one among locks alone. When
	// it is broken, the next look shows the next one of the set.
	Cycles []Cycle
}

// Wait says that an owner waits for another one, which stands before it in a
// queue and has to go first. It is a plain value.
type Wait struct {
	Owner, OwnerName string // who waits: Node.OwnerID and OwnerName
	For, ForName     string // whom for
	Path             string // of the queue
	Node, ForNode    string // their nodes' names
}

// Cycle is a deadlock: owners of whom each waits for the next one, and the last
// for the first. It is a plain value, whose zero value is empty; copies share its
// slice.
type Cycle struct {
	Waits []Wait // each one's For is the next one's Owner, round to the first
	// Certain: two looks, a second apart, have shown all of its nodes with the
	// same data, and all are of locks. The cycle then lasts until a call's context
	// ends or a node is broken, if the processes of its nodes are connected: one
	// that is cut off from ZooKeeper at that moment may have given its lock to
	// another of its goroutines, or have given up, which its nodes can't show.
	// Otherwise it may be none, or may have ended: look again. A cycle through
	// permits is never certain, since another holder may give some back.
	Certain bool
}

// InspectTree inspects every queue at root and below it, and ties them together
// by their owners: a cycle among those is a deadlock. Only nodes that name an
// Owner can be tied together, and only calls that have a node (see Inspect).
//
// It lists every node below root, whatever it is. The queues are looked at one
// after the other, so that a cycle may be put together from what was never so at
// one time. Where there is one among locks, InspectTree waits for a second and
// reads the nodes of the cycle again: see Cycle.Certain. A cycle of which a node
// is gone by then is left out; Queues and Waits show the first look. If ctx ends
// after the first look, the result is returned with no cycle certain.
//
// Time and memory grow with the number of nodes. The errors are Inspect's.
func (s *Session) InspectTree(ctx context.Context, root string) (Tree, error) {
	t := Tree{Root: root}
	full, err := s.fullPath(root)
	if err == nil {
		err = s.descend(ctx, root, full, &t)
	}
	if err == nil {
		slices.SortFunc(t.Queues, func(a, b Queue) int { return strings.Compare(a.Path, b.Path) })
		err = s.tie(ctx, &t)
	}
	if err != nil {
		return Tree{}, &Error{Op: "inspect", Path: root, Err: err}
	}
	return t, nil
}

func (s *Session) descend(ctx context.Context, at, full string, t *Tree) error {
	var names []string
	err := s.ask(ctx, func() (err error) {
		names, _, err = s.conn.Children(full)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	q := Queue{Path: at}
	var line []znode.Name
	for _, n := range names {
		if name, ok := znode.Parse(n); ok {
			line = append(line, name)
			continue
		}
		q.Other = append(q.Other, n)
		if err := s.descend(ctx, path.Join(at, n), path.Join(full, n), t); err != nil {
			return err
		}
	}
	if q.Nodes, err = s.read(ctx, full, line); err != nil {
		return err
	}
	if len(q.Nodes) > 0 {
		t.Queues = append(t.Queues, q)
	}
	return nil
}

// tie finds out who waits for whom, and in which circles.
func (s *Session) tie(ctx context.Context, t *Tree) error {
	waits, loops, err := findLoops(ctx, t.Queues, nil)
	if err != nil {
		return err
	}
	same, gone := s.lookAgain(ctx, t.Queues, loops)
	if len(gone) > 0 {
		// Another cycle may go through the same owners.
		if _, again, err := findLoops(ctx, t.Queues, gone); err == nil {
			loops = again
		}
	}
	t.Waits = waitsOf(t.Queues, waits)
	for _, l := range loops {
		t.Cycles = append(t.Cycles, Cycle{
			Waits: waitsOf(t.Queues, l.steps),
			Certain: l.locks && !slices.ContainsFunc(l.steps, func(st step) bool {
				return !same[st.from] || !same[st.to]
			}),
		})
	}
	return nil
}

// betweenLooks is far more than the time for which a node may name somebody who
// has handed the lock over.
const betweenLooks = time.Second

// lookAgain waits, and reads the nodes of the loops among locks again. same are
// the nodes that are as they were; gone are those that are not there any more, or
// have another owner. Both are nil if that could not be found out.
func (s *Session) lookAgain(ctx context.Context, queues []Queue, loops []loop) (same, gone map[spot]bool) {
	var spots []spot
	found := make(map[spot]bool)
	for _, l := range loops {
		for _, st := range l.steps {
			for _, sp := range []spot{st.from, st.to} {
				if l.locks && !found[sp] {
					found[sp] = true
					spots = append(spots, sp)
				}
			}
		}
	}
	if len(spots) == 0 {
		return nil, nil
	}
	select {
	case <-time.After(betweenLooks):
	case <-ctx.Done():
		return nil, nil
	}
	// A server that is cut off from its leader shows what was.
	err := s.ask(ctx, func() error {
		_, err := s.conn.Sync(spots[0].in(queues).Path)
		return err
	})
	if err != nil {
		return nil, nil
	}
	now := make([]Node, len(spots))
	errs := forEach(len(spots), func(i int) (err error) {
		n := spots[i].in(queues)
		now[i], err = s.node(ctx, path.Dir(n.Path), znode.Name{Raw: n.Name})
		return err
	})
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, zk.ErrNoNode) }) {
		return nil, nil
	}
	same, gone = make(map[spot]bool), make(map[spot]bool)
	for i, n := range now {
		was := spots[i].in(queues)
		switch {
		case n.Fence != was.Fence || n.OwnerID != was.OwnerID: // zero where there is none
			gone[spots[i]] = true
		case n.Version == was.Version:
			same[spots[i]] = true
		}
	}
	return same, gone
}
