package zksync

import (
	"context"
	"errors"
	"path"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// This file logs, once each, nodes below a lock's path that should not be there.

// maxLogged bounds the memory for what was logged.
const maxLogged = 1000

// logged is a bounded set of the keys of what was logged. The zero value is empty.
type logged struct {
	mu   sync.Mutex
	keys map[string]struct{} // guarded by mu
}

// first adds a key, and reports whether it is new.
func (l *logged) first(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.keys[key]; known {
		return false
	}
	if l.keys == nil || len(l.keys) >= maxLogged {
		l.keys = make(map[string]struct{})
	}
	l.keys[key] = struct{}{}
	return true
}

// maxPrefixes bounds how many prefixes of names below one path are examined.
const maxPrefixes = 16

// strangers is a bounded record of the children with numbers that were examined.
// The zero value is empty.
type strangers struct {
	mu    sync.Mutex
	paths map[string]*stranger // guarded by mu
	size  int                  // guarded by mu; prefixes of all paths
}

// stranger records what was examined below one path.
type stranger struct {
	seen   map[string]bool // names without their number
	logged bool            // the path was logged, so that nothing more is examined
}

// fresh records the prefixes of names below a path. For each new prefix it returns the
// name with the highest number, which is the likeliest to be in use.
func (s *strangers) fresh(parent string, names []string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paths[parent]
	if p != nil && (p.logged || len(p.seen) >= maxPrefixes) {
		return nil
	}
	var samples map[string]string
	for _, n := range names {
		prefix := prefixOf(n)
		was, there := samples[prefix]
		switch {
		case there:
			if n > was {
				samples[prefix] = n
			}
			continue
		case p != nil && (p.seen[prefix] || len(p.seen) >= maxPrefixes):
			continue
		case s.paths == nil || p == nil && s.size >= maxLogged:
			s.paths, s.size = make(map[string]*stranger), 0
		}
		if p == nil {
			p = &stranger{seen: make(map[string]bool)}
			s.paths[parent] = p
		}
		p.seen[prefix] = true
		s.size++
		if samples == nil {
			samples = make(map[string]string)
		}
		samples[prefix] = n
	}
	return samples
}

// forget makes a prefix count as new again.
func (s *strangers) forget(parent, prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.paths[parent]; p != nil && p.seen[prefix] {
		delete(p.seen, prefix)
		s.size--
	}
}

// report reports whether to log the path now. It returns true once for a path.
func (s *strangers) report(parent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paths[parent]
	if p == nil || p.logged {
		return p == nil
	}
	p.logged = true
	return true
}

// prefixOf returns a name without its number. znode.Numbered must be true for the name.
func prefixOf(name string) string { return name[:len(name)-10] }

// maxNames bounds the names in one line of the log.
const maxNames = 10

// strange examines children of a lock's path that no lock heeds and whose names end in a
// number. If they are ephemeral, a program with another library takes a lock here, and
// strange logs a warning. It works in the background. One read decides for all names with
// the same prefix; persistent children with numbers may hold data.
func (s *Session) strange(parent string, names []string) {
	samples := s.strangers.fresh(parent, names)
	if len(samples) == 0 {
		return
	}
	names = slices.Clone(names)
	go func() {
		locks := make(map[string]bool)
		for prefix, name := range samples {
			st, _, err := s.conn.Stat(path.Join(parent, name))
			switch {
			case err == nil:
				locks[prefix] = st.EphemeralOwner != 0
			case errors.Is(err, zk.ErrNoAuth):
			default:
				s.strangers.forget(parent, prefix) // gone, or no answer: the next listing asks again
			}
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !locks[prefixOf(n)] })
		if n := len(names); n > 0 && s.strangers.report(parent) {
			s.logger().Warn("zksync: children of a lock's path look like another recipe's lock nodes, which are not heeded: both sides may hold; see WithForeignPrefix",
				"path", parent, "children", names[:min(n, maxNames)], "count", n)
		}
	}()
}

// stays logs a node in line that belongs to no session, once for each session and node.
func (s *Session) stays(node string) {
	if s.stayers.first(node) {
		s.logger().Warn("zksync: a lock's node belongs to no session, so that ZooKeeper never removes it: it blocks the lock until somebody deletes it",
			"node", node)
	}
}

// maxSuspects bounds how many children Inspect reads to learn whether they are
// ephemeral.
const maxSuspects = 100

// suspects returns the names in other that look like lock nodes of another recipe.
func (s *Session) suspects(ctx context.Context, full string, other []string) ([]string, error) {
	var names []string
	for _, n := range other {
		if znode.Numbered(n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	names = names[:min(len(names), maxSuspects)]
	found := make([]bool, len(names))
	errs := forEach(make(gate, atOnce), len(names), func(i int) error {
		st, err := answered(ctx, s, func() (*zk.Stat, error) {
			st, _, err := s.conn.Stat(path.Join(full, names[i]))
			return st, err
		})
		found[i] = err == nil && st.EphemeralOwner != 0
		return err
	})
	var suspects []string
	for i, err := range errs {
		switch {
		case found[i]:
			suspects = append(suspects, names[i])
		case err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNoAuth):
			return nil, err
		}
	}
	return suspects, nil
}
