package conn

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	// partSize bounds the operations in one transaction of a round, in bytes. With
	// the header it is about as large as any request may be: see clientLimit.
	partSize = 128 << 10
	// smallPart is the same for a program's client, whose buffer may be smaller, and for a
	// slow connection: a connection on which nothing is answered for T/6 is given up.
	smallPart = 32 << 10
	// bytesAtOnce bounds the transactions of a round that wait for their answers at one
	// time. They are written at once, and a slow network has T/3 for that.
	bytesAtOnce = 256 << 10
	// partsAtOnce bounds them as well. A program's client accepts 16 requests before it
	// blocks, and others need it too.
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
	size := partSize
	if c.foreign != nil || c.slowRound.Load() {
		size = smallPart
	}
	start := time.Now()
	g.SetLimit(partsAtOnce)
	room := semaphore.NewWeighted(bytesAtOnce)
	for _, part := range c.unreadable.divide(paths, size) {
		size := min(sizeChecks(part), bytesAtOnce)
		if room.Acquire(c.life, size) != nil {
			break // the Conn is closed
		}
		g.Go(func() error {
			defer room.Release(size)
			if !failed.Load() && !c.probePart(part, &found) {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = g.Wait()
	c.slowRound.Store(failed.Load() || time.Since(start) > c.Timeout()/24)
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

// divide divides nodes up into transactions of at most that many bytes. In a
// transaction an unreadable node would hide the fate of those after it, so it is checked
// alone. If there are many of these, each call takes some: their order is that of a map,
// and so random. divide forgets the unreadable nodes that are not among paths.
func (u *unreadable) divide(paths []string, most int) (parts [][]string) {
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
		n := sizeCheck(p)
		if size+n > most && len(part) > 0 {
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
