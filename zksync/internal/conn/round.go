package conn

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

const (
	// partSize bounds the paths in one transaction of a round, in bytes. It is far
	// below what any server accepts.
	partSize = 32 << 10
	// partsAtOnce bounds the transactions that wait for their answers at one time.
	// The client accepts 16 requests before it blocks, and others need it too.
	partsAtOnce = 8
	// maxAlone bounds the nodes that a round checks in transactions of their own,
	// and those of which it finds out that they need that.
	maxAlone = 16
)

// probe checks the nodes in parts that are sent together. It closes ended when all
// parts have been answered, or when one failed.
func (c *Conn) probe(paths []string, ended chan<- struct{}) {
	defer close(ended)
	var failed atomic.Bool
	var found atomic.Int32 // nodes that turned out to be unreadable
	var g errgroup.Group
	g.SetLimit(partsAtOnce)
	for _, part := range c.unreadable.divide(paths) {
		g.Go(func() error {
			if !failed.Load() && !c.probePart(part, &found) {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// probePart checks the nodes of a part. A node that is gone or unreadable ends the
// transaction, so the nodes after it are checked again at once. It returns false if
// there was no answer.
func (c *Conn) probePart(part []string, found *atomic.Int32) bool {
	for single := len(part) == 1; len(part) > 0; {
		at, why, _, err := c.check(part)
		switch {
		case err != nil:
			return false
		case why == nil:
			if single {
				c.unreadable.note(part[0], false)
			}
			return true
		case errors.Is(why, zk.ErrNoNode):
			c.gone(part[at])
			part = slices.Delete(part, at, at+1)
		case errors.Is(why, zk.ErrNoAuth):
			c.unreadable.note(part[at], true)
			if !single && found.Add(1) > maxAlone {
				return true // the rest is checked in the next round
			}
			part = part[at+1:]
		default:
			return true
		}
	}
	return true
}

// unreadable has the guarded nodes that the session may not read. The zero value is
// empty.
type unreadable struct {
	mu    sync.Mutex // no other mutex is taken while it is held
	paths map[string]struct{}
}

// note records whether a node is unreadable.
func (u *unreadable) note(path string, is bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !is {
		delete(u.paths, path)
		return
	}
	if u.paths == nil {
		u.paths = make(map[string]struct{})
	}
	u.paths[path] = struct{}{}
}

// divide divides nodes up into transactions. In a transaction an unreadable node
// would hide the fate of those after it, so it is checked alone. If there are many
// of these, each call takes some: their order is that of a map, and so random. divide
// forgets the unreadable nodes that are not among paths.
func (u *unreadable) divide(paths []string) (parts [][]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var part []string
	var size, alone int
	still := make(map[string]struct{}, len(u.paths))
	for _, p := range paths {
		if _, is := u.paths[p]; is {
			still[p] = struct{}{}
			if alone++; alone <= maxAlone {
				parts = append(parts, []string{p})
			}
			continue
		}
		n := len(p) + 32
		if size+n > partSize && len(part) > 0 {
			parts, part, size = append(parts, part), nil, 0
		}
		part, size = append(part, p), size+n
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	u.paths = still
	return parts
}
