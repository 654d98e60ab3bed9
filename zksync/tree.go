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

// Tree is all the queues below a path, and who waits for whom. It is a plain value.
// Its zero value is empty, and copies share its slices. The library does not change
// it: several goroutines may read it.
type Tree struct {
	Root   string
	Queues []Queue // that have a lock node, in the order of their paths
	// Waits has one Wait for each waiting node with a known owner. It leads to the
	// nearest node before it that blocks it and has a known owner. The waiting node
	// also waits for all other nodes before it that it can't hold beside.
	Waits []Wait
	// Cycles are the deadlocks: one for each set of owners that all wait for each
	// other, directly or through others; a cycle of locks only is preferred. When
	// it is broken, the next InspectTree shows the next one of the set.
	Cycles []Cycle
}

// Wait says that an owner waits for another owner, which stands before it in a
// queue and has to leave first. It is a plain value.
type Wait struct {
	Owner, OwnerName string // the owner that waits: LockNode.OwnerID and OwnerName
	For, ForName     string // the owner that it waits for
	Path             string // of the queue
	Node, ForNode    string // the full paths of their nodes
}

// Cycle is a deadlock: each of its owners waits for the next one, and the last one
// for the first. It is a plain value. Its zero value is empty, and copies share its
// slice.
type Cycle struct {
	Waits []Wait // each one's For is the next one's Owner, round to the first
	// Certain means that two reads, a second apart, have shown all nodes of the
	// cycle with the same data, and that all are nodes of locks. The cycle then
	// lasts until a call's context ends or a node is broken, if the processes of
	// its nodes are connected. A process that is cut off from ZooKeeper at that
	// moment may have passed its lock to another of its goroutines, or may have
	// given up, and its nodes can't show that. If Certain is false, the cycle may
	// not exist, or may have ended: call InspectTree again. A cycle through permits
	// is never certain, because another holder may release some.
	Certain bool
}

// InspectTree inspects every queue at root and below it, and connects the queues by
// their owners: a cycle of owners is a deadlock. It can connect only nodes that name
// an Owner, and only calls that have a node (see Inspect).
//
// It lists every node below root, whatever its kind. The root "/" is all that the session
// can lock: everything below its chroot, or without one everything but /zookeeper. It does
// not read the queues at one time, so that a cycle may consist of waits that never existed
// at one time. If
// there is a cycle of locks, InspectTree waits for a second and reads the nodes of
// the cycle again: see Cycle.Certain. A cycle that has lost a node by then is left
// out; Queues and Waits show the first read. If ctx ends after the first read,
// InspectTree returns the result with no cycle certain.
//
// Time and memory grow with the number of nodes; Queues looks at one queue at a time. The
// errors are Inspect's.
func (s *Session) InspectTree(ctx context.Context, root string) (Tree, error) {
	t := Tree{Root: root}
	for q, err := range s.Queues(ctx, root) {
		if err != nil {
			return Tree{}, err
		}
		t.Queues = append(t.Queues, q)
	}
	slices.SortFunc(t.Queues, func(a, b Queue) int { return strings.Compare(a.Path, b.Path) })
	if err := s.tie(ctx, &t); err != nil {
		return Tree{}, &Error{Op: "inspect", Path: root, Err: err}
	}
	return t, nil
}

// tie sets the Waits and the Cycles of a tree.
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

// betweenLooks is far longer than a node may name a call that has handed the lock over.
const betweenLooks = time.Second

// lookAgain waits, and reads the nodes of the loops among locks again. same has the
// nodes that have not changed; gone has those that do not exist any more or have
// another owner. Both are nil if the nodes could not be read.
func (s *Session) lookAgain(ctx context.Context, queues []Queue, loops []loop) (same, gone map[spot]bool) {
	spots := spotsOf(loops)
	if len(spots) == 0 {
		return nil, nil
	}
	select {
	case <-time.After(betweenLooks):
	case <-ctx.Done():
		return nil, nil
	}
	now, err := s.readAgain(ctx, queues, spots)
	if err != nil {
		return nil, nil
	}
	same, gone = make(map[spot]bool), make(map[spot]bool)
	for i, n := range now {
		was := spots[i].in(queues)
		switch {
		case n.Fence != was.Fence || n.OwnerID != was.OwnerID: // zero if there is no node
			gone[spots[i]] = true
		case n.Version == was.Version:
			same[spots[i]] = true
		}
	}
	return same, gone
}

// spotsOf returns where the nodes of the loops among locks stand, each node once.
func spotsOf(loops []loop) (spots []spot) {
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
	return spots
}

// readAgain reads the nodes at spots. A node that does not exist any more is zero.
func (s *Session) readAgain(ctx context.Context, queues []Queue, spots []spot) ([]LockNode, error) {
	// A server that is cut off from its leader would show an old state.
	err := s.ask(ctx, func() error {
		_, err := s.conn.Sync(spots[0].in(queues).Node)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := make([]LockNode, len(spots))
	errs := forEach(make(gate, atOnce), len(spots), func(i int) (err error) {
		n := spots[i].in(queues)
		now[i], err = s.node(ctx, path.Dir(n.Node), znode.Name{Raw: path.Base(n.Node)})
		return err
	})
	for _, err := range errs {
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
	}
	return now, nil
}
