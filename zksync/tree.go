package zksync

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Tree is all the queues below a path, and who waits for whom. It is a plain
// value, whose zero value is empty; copies share its slices. Nobody changes it:
// several goroutines may read it.
type Tree struct {
	Root   string
	Queues []Queue // that have a lock node, in the order of their paths
	Waits  []Wait
	Cycles [][]Wait // deadlocks: each Wait's For is the next one's Owner, round to the first
}

// Wait says that an owner waits for another one, which stands before it in a
// queue and has to go first. It is a plain value.
type Wait struct {
	Owner, OwnerName string // who waits: Node.OwnerID and OwnerName
	For, ForName     string // whom for
	Path             string // of the queue
	Node, ForNode    string // their nodes' names
}

// InspectTree inspects every queue at root and below it, and ties them together
// by their owners: a cycle among those is a deadlock, unless somebody's context
// ends. Only calls that have a node (see Inspect) and carry an Owner can be tied
// together; and since the queues are looked at one after the other, a cycle is
// certain only if a second look shows it with the same nodes. One of permits may
// dissolve when another holder gives some back.
//
// It lists every node below root, whatever it is. The errors are Inspect's.
func (s *Session) InspectTree(ctx context.Context, root string) (Tree, error) {
	t := Tree{Root: root}
	full, err := s.fullPath(root)
	if err == nil {
		err = s.descend(ctx, root, full, &t)
	}
	if err != nil {
		return Tree{}, &Error{Op: "inspect", Path: root, Err: err}
	}
	slices.SortFunc(t.Queues, func(a, b Queue) int { return strings.Compare(a.Path, b.Path) })
	for _, q := range t.Queues {
		t.Waits = append(t.Waits, q.waits()...)
	}
	t.Cycles = cycles(t.Waits)
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

// waits returns who waits for whom in a queue: for all before it that it can't
// be beside.
func (q Queue) waits() (waits []Wait) {
	for i, n := range q.Nodes {
		if n.Held || n.OwnerID == "" {
			continue
		}
		for _, b := range q.Nodes[:i] {
			if b.OwnerID == "" || n.Mode == ModeRead && b.Mode == ModeRead || (n.Mode == ModePermit) != (b.Mode == ModePermit) {
				continue
			}
			waits = append(waits, Wait{
				Owner: n.OwnerID, OwnerName: n.OwnerName, For: b.OwnerID, ForName: b.OwnerName,
				Path: q.Path, Node: n.Name, ForNode: b.Name,
			})
		}
	}
	return waits
}

// cycles returns a shortest cycle through each owner that is in one, each cycle
// once.
func cycles(waits []Wait) (found [][]Wait) {
	next := make(map[string][]Wait)
	var owners []string
	for _, w := range waits {
		if next[w.Owner] == nil {
			owners = append(owners, w.Owner)
		}
		next[w.Owner] = append(next[w.Owner], w)
	}
	seen := make(map[string]bool) // owners of a cycle that is told
	for _, o := range owners {
		if seen[o] {
			continue
		}
		if c := around(next, o); c != nil {
			found = append(found, c)
			for _, w := range c {
				seen[w.Owner] = true
			}
		}
	}
	return found
}

// around returns a shortest way from an owner back to itself.
func around(next map[string][]Wait, owner string) []Wait {
	came := make(map[string]Wait) // how each owner was reached
	for at := []string{owner}; len(at) > 0; at = at[1:] {
		for _, w := range next[at[0]] {
			if w.For == owner {
				way := []Wait{w}
				for from := w.Owner; from != owner; from = came[from].Owner {
					way = append(way, came[from])
				}
				slices.Reverse(way)
				return way
			}
			if _, been := came[w.For]; !been {
				came[w.For] = w
				at = append(at, w.For)
			}
		}
	}
	return nil
}
