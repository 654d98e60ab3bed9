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

// forget has the key be new again.
func (t *told) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.keys, key)
}

// maxNames bounds the names that one line of the log tells.
const maxNames = 10

// strange looks into children of a lock's path that no lock heeds and that have
// numbers as the nodes of a recipe do: if they are ephemeral, then somebody else
// takes a lock here, beside ours. One read tells, for all of them, in the
// background.
func (s *Session) strange(parent string, names []string) {
	if !s.strangers.first(parent) {
		return
	}
	n := len(names)
	names = slices.Clone(names[:min(n, maxNames)])
	go func() {
		st, _, err := s.conn.Stat(path.Join(parent, names[0]))
		switch {
		case err == nil && st.EphemeralOwner != 0:
			s.logger().Warn("zksync: children of a lock's path look like another recipe's lock nodes, which are not heeded: both sides may hold; see WithForeignPrefix",
				"path", parent, "children", names, "count", n)
		case err == nil, errors.Is(err, zk.ErrNoAuth):
		default:
			s.strangers.forget(parent) // gone, or no answer: the next listing asks again
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
