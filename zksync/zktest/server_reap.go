package zktest

import (
	"maps"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// reapLater has the tree looked through at the next whole interval since the
// start.
func (s *Server) reapLater() {
	if s.reaper != nil || s.closed {
		return
	}
	s.reaper = time.AfterFunc(s.cfg.reap-s.since()%s.cfg.reap, s.reap)
}

// reap deletes containers that have lost their last child, and nodes whose time
// to live has passed, each in a transaction of its own.
func (s *Server) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaper = nil
	if s.closed {
		return
	}
	now := time.Now().UnixMilli()
	for _, p := range slices.Sorted(maps.Keys(s.tree.selfGoing)) {
		n := s.tree.nodes[p]
		due := n.kind == container && n.creates > 0 || n.kind == timed && now-n.mtime > n.ttl
		if !due || len(n.names) > 0 {
			continue
		}
		x := s.begin()
		x.changes = []change{{op: wire.OpDelete, path: p, acl: n.acl}}
		s.tree.apply(&x.changes[0], x)
		s.commit(x, nil)
		s.log("reaped", "path", p)
	}
	if len(s.tree.selfGoing) > 0 {
		s.reapLater()
	}
}
