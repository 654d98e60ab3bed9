package conn

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

const (
	probeSize = 32 << 10 // bytes of a part of a probe, far below what any server takes
	// partsAtOnce bounds the parts on their way: the client takes up to 16
	// requests before it blocks, and there are others.
	partsAtOnce = 8
	// alone bounds the nodes of a round that are checked alone, and those that are
	// found to need it.
	alone = 16
)

// probe checks the nodes in parts that are sent together, and closes over when all
// have been answered, or one failed.
func (c *Conn) probe(paths []string, over chan<- struct{}) {
	defer close(over)
	var failed atomic.Bool
	var found atomic.Int32 // nodes that may not be read
	var g errgroup.Group
	g.SetLimit(partsAtOnce)
	for _, part := range c.parts(paths) {
		g.Go(func() error {
			if !failed.Load() && !c.probePart(part, &found) {
				failed.Store(true)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// parts divides nodes up into transactions. A node that may not be read would hide
// what those after it in a transaction have become of, so it is checked alone: of
// many some each time, as Guard's order is a map's.
func (c *Conn) parts(paths []string) (parts [][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var part []string
	var singles, size int
	secret := make(map[string]struct{}, len(c.secret))
	for _, p := range paths {
		if _, is := c.secret[p]; is {
			secret[p] = struct{}{}
			if singles++; singles <= alone {
				parts = append(parts, []string{p})
			}
			continue
		}
		n := len(p) + 32
		if size+n > probeSize && len(part) > 0 {
			parts, part, size = append(parts, part), nil, 0
		}
		part, size = append(part, p), size+n
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	c.secret = secret // without those that nobody guards any more
	return parts
}

// probePart checks the nodes of a part. One that is gone, or may not be read, hides
// what has become of those after it: they are asked for again at once. It returns
// false without an answer.
func (c *Conn) probePart(part []string, found *atomic.Int32) bool {
	for single := len(part) == 1; len(part) > 0; {
		at, why, _, err := c.check(part)
		switch {
		case err != nil:
			return false
		case why == nil:
			if single {
				c.setSecret(part[0], false)
			}
			return true
		case errors.Is(why, zk.ErrNoNode):
			c.gone(part[at])
			part = slices.Delete(part, at, at+1)
		case errors.Is(why, zk.ErrNoAuth):
			c.setSecret(part[at], true)
			if !single && found.Add(1) > alone {
				return true // the others next time
			}
			part = part[at+1:]
		default:
			return true
		}
	}
	return true
}

// setSecret notes whether a node may not be read.
func (c *Conn) setSecret(path string, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !is {
		delete(c.secret, path)
	} else {
		c.secret[path] = struct{}{}
	}
}
