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

// What stands below a lock's path and should not: the log tells of it, once.

// maxTold bounds the memory for what the log has told of.
const maxTold = 1000

// told is a bounded set of what the log has told of. The zero value is empty.
type told struct {
	mu   sync.Mutex
	keys map[string]struct{} // guarded by mu
}

// first reports whether the key is new, and notes it.
func (t *told) first(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.keys[key]; known {
		return false
	}
	if t.keys == nil || len(t.keys) >= maxTold {
		t.keys = make(map[string]struct{})
	}
	t.keys[key] = struct{}{}
	return true
}

// maxPrefixes bounds how many kinds of names below one path are looked into.
const maxPrefixes = 16

// strangers is a bounded record of the children with numbers that were looked into.
// The zero value is empty.
type strangers struct {
	mu    sync.Mutex
	paths map[string]*stranger // guarded by mu
	size  int                  // guarded by mu; prefixes of all paths
}

// stranger is what was looked into below one path.
type stranger struct {
	seen map[string]bool // names without their number
	told bool            // the log has told of the path: nothing more is looked into
}

// fresh notes the prefixes of names below a path, and returns, for those that are
// new, the name with the highest number: the likeliest to be in use.
func (s *strangers) fresh(parent string, names []string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paths[parent]
	if p != nil && (p.told || len(p.seen) >= maxPrefixes) {
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
		case s.paths == nil || p == nil && s.size >= maxTold:
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

// forget has a prefix be new again.
func (s *strangers) forget(parent, prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.paths[parent]; p != nil && p.seen[prefix] {
		delete(p.seen, prefix)
		s.size--
	}
}

// tell reports whether the log is to tell of the path now, which it does once.
func (s *strangers) tell(parent string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paths[parent]
	if p == nil || p.told {
		return p == nil
	}
	p.told = true
	return true
}

// prefixOf is a name that znode.Numbered is true of, without its number.
func prefixOf(name string) string { return name[:len(name)-10] }

// maxNames bounds the names that one line of the log tells.
const maxNames = 10

// strange looks into children of a lock's path that no lock heeds and that have
// numbers as the nodes of a recipe do: if they are ephemeral, then somebody else
// takes a lock here, beside ours. One read tells, for all names that differ in their
// number only, in the background: data with numbers may be beside them.
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
		if n := len(names); n > 0 && s.strangers.tell(parent) {
			s.logger().Warn("zksync: children of a lock's path look like another recipe's lock nodes, which are not heeded: both sides may hold; see WithForeignPrefix",
				"path", parent, "children", names[:min(n, maxNames)], "count", n)
		}
	}()
}

// stays tells, once a session and node, of a node in line that belongs to no
// session.
func (s *Session) stays(node string) {
	if s.stayers.first(node) {
		s.logger().Warn("zksync: a lock's node belongs to no session, so that ZooKeeper never removes it: it blocks the lock until somebody deletes it",
			"node", node)
	}
}

// maxSuspects bounds how many children Inspect reads to tell whether they are
// ephemeral.
const maxSuspects = 100

// suspects returns those of other that look like lock nodes of another recipe.
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
	errs := make([]error, len(names))
	gate := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, n := range names {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			var st *zk.Stat
			errs[i] = s.ask(ctx, func() (err error) {
				st, _, err = s.conn.Stat(path.Join(full, n))
				return err
			})
			found[i] = errs[i] == nil && st.EphemeralOwner != 0
		})
	}
	wg.Wait()
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
