package zktest

import (
	"github.com/zklocker/go-zksync/zksync/zktest/internal/dynamic"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// Reset makes the server as it was when it was new, for the next test: it closes all
// connections, ends all sessions, empties the tree, ends all [Faults] of all members and
// [Server.LoseQuorum], and starts the counts of requests anew. The first member leads, and
// the configuration has all members again. No watch fires. Members, their addresses and
// the options stay. Zxids and the numbers of sessions go on: a client of before that comes
// back learns that its session is over, and can't be taken for a client of after. A
// [Recorder] goes on, and has a Reset of its own. Reset panics, and changes nothing, where
// [Faults.Accept] does.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	unshut(s.members)
	zxid := s.tree.Zxid()
	s.tree = tree.New()
	s.tree.SetZxid(zxid)
	s.first = zxid
	clear(s.sessions)
	s.ends, s.requests = nil, newRequestCounts()
	for _, m := range s.members {
		m.reset()
	}
	s.lost, s.leader, s.servers = false, s.members[0], dynamic.Config{}
	for _, m := range s.members {
		s.list(m)
	}
}

// reset ends the connections and the faults of a member, and gives it the leader's
// tree. The caller holds srv.mu.
func (m *Member) reset() {
	m.cutAll() // before faults end: no held request reaches the new tree
	m.pending, m.view = nil, m.srv.tree
	m.lags = false
	m.newCounts()
	m.rejoin()
	m.dropReply, m.dropReq = nil, nil
	m.setNetwork(func(n *network) { *n = network{} })
}
