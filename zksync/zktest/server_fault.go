package zktest

import (
	"fmt"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Request is a request of a client, as [Faults.DropReply] and
// [Faults.DropRequest] show it. It is a plain value; copies share Paths.
type Request struct {
	Session int64    // of the client
	Op      string   // "create", "getData", "multi", ...
	Paths   []string // as they were sent: none of a ping, one of most, those of all operations of a multi or multiRead
	Xid     int32    // the client's number of it
}

// Expire ends a session now, as if the server had heard nothing from it for its
// timeout. The session's nodes are deleted and its connections closed, and its
// client learns of the end when it connects again. Expire reports whether there was
// such a session. A member that lags or is cut from the leader learns of it later.
func (s *Server) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session] == nil {
		return false
	}
	s.endSession(session, nil)
	return true
}

// SetSequence makes n the number of the next sequential node below path. It changes
// the node's Cversion with it, because ZooKeeper derives both from one count. It
// returns an error if there is no such node.
func (s *Server) SetSequence(path string, n int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.tree.SetSequence(path, n)
	if x == nil {
		return fmt.Errorf("zktest: no node %s", path)
	}
	s.commit(x, nil)
	return nil
}

// Restart acts as if the servers were restarted: it closes all connections, and
// starts the count of transactions anew in the next epoch, as a new leader does. Each
// session has its whole timeout to come back. The tree stays. The leader is the same.
func (s *Server) Restart() { s.restart(s.touch) }

// RestartExpired is [Server.Restart] after the servers were away for longer than any
// session's timeout: all sessions end, and their nodes are deleted.
func (s *Server) RestartExpired() { s.restart(func(ss *session) { s.endSession(ss.id, nil) }) }

// restart does what each restart does, and then what it does to each session.
func (s *Server) restart(each func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		m.cutAll()
		m.newCounts()
		m.lags = false
		m.rejoin()
	}
	s.newEpoch()
	for _, id := range s.sessionIDs() {
		each(s.sessions[id])
	}
}

// hooks counts and records a request, and asks the test whether the request is lost (drop) or
// its answer (mute).
func (c *conn) hooks(r *request) (drop, mute bool) {
	s := c.srv
	s.mu.Lock()
	if c.gone { // its frames of before are nobody's requests
		s.mu.Unlock()
		return true, false
	}
	s.requests.add(c.session, r.Op)
	dropReq, dropReply := c.member.dropReq, c.member.dropReply
	req := Request{Session: c.session, Op: r.Op.String(), Xid: r.xid}
	if dropReq != nil || dropReply != nil || len(s.recorders) > 0 {
		req.Paths = r.paths()
	}
	if r.Op != wire.OpPing {
		r.record = c.record(req)
	}
	s.mu.Unlock()
	if dropReq == nil && dropReply == nil {
		return false, false
	}
	s.hookTurn <- struct{}{}
	defer func() { <-s.hookTurn }()
	s.mu.Lock()
	dropReq, dropReply = c.member.dropReq, c.member.dropReply // perhaps they were ended meanwhile
	s.mu.Unlock()
	if dropReq != nil && dropReq(req) {
		return true, false
	}
	return false, dropReply != nil && dropReply(req)
}
