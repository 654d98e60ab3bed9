package zktest

import (
	"bytes"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// session is a session that has not ended.
type session struct {
	id       int64
	password []byte
	timeout  time.Duration
	expires  time.Duration // since the server's start
	conn     *conn         // the connection that owns it; nil while there is none
}

// touch postpones the end of a session, because its client was heard.
func (s *Server) touch(ss *session) {
	// Sessions end in batches, at whole ticks.
	tick := s.cfg.tick
	ss.expires = (s.since() + ss.timeout).Truncate(tick) + tick
	s.wake(ss.expires)
}

// wake sets the alarm for the next look at sessions, in time since the start. An
// earlier alarm stays.
func (s *Server) wake(at time.Duration) {
	if s.closed || s.alarmAt != 0 && s.alarmAt <= at {
		return
	}
	s.alarmAt = at
	if s.alarm == nil {
		s.alarm = time.AfterFunc(at-s.since(), s.expireDue)
	} else {
		s.alarm.Reset(at - s.since())
	}
}

// expireDue ends the sessions whose time has come.
func (s *Server) expireDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarmAt = 0
	if s.closed {
		return
	}
	now := s.since()
	var next time.Duration
	for _, id := range s.sessionIDs() {
		ss := s.sessions[id]
		if ss.expires <= now {
			s.log("session expired", "session", id)
			s.endSession(id, nil)
		} else if next == 0 || ss.expires < next {
			next = ss.expires
		}
	}
	if next != 0 {
		s.wake(next)
	}
}

// endSession ends a session by a transaction: it deletes the session's nodes and
// closes its connections, except the one that asked for it.
func (s *Server) endSession(id int64, by *conn) *tree.Txn {
	x := s.begin()
	x.Ended = id
	paths := s.tree.Ephemerals(id)
	// ZooKeeper takes them in the order of a hash table.
	s.rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	s.tree.Remove(x, paths...)
	delete(s.sessions, id)
	s.commit(x, by)
	return x
}

// connect answers the first frame of a connection. It reports false if the
// connection ends.
func (c *conn) connect(payload []byte) bool {
	req, err := wire.ParseConnectRequest(payload)
	if err != nil {
		return false
	}
	// Sessions are made, and taken over, by the leader alone.
	if !c.lockLeader(true) {
		return false
	}
	defer c.srv.mu.Unlock()
	s := c.srv
	if c.gone || req.LastZxidSeen > c.member.view.Zxid() {
		s.log("connection refused: the client has seen more", "zxid", req.LastZxidSeen)
		return false
	}
	resp := wire.ConnectResponse{Password: make([]byte, 16), HasReadOnly: req.HasReadOnly}
	ss := c.sessionFor(&req)
	if ss != nil {
		c.own(ss, s.cfg.granted(req.Timeout))
		resp.Timeout, resp.SessionID, resp.Password = int32(ss.timeout.Milliseconds()), ss.id, ss.password
	}
	c.send(wire.AppendFrame(nil, resp.Append(nil)))
	if ss != nil {
		s.log("session connected", "session", ss.id, "timeout", ss.timeout, "new", req.SessionID == 0)
	}
	return ss != nil
}

// sessionFor returns the session that a client asks for, a new one for 0, or nil
// if there is none that it may have.
func (c *conn) sessionFor(req *wire.ConnectRequest) *session {
	s := c.srv
	if req.SessionID == 0 {
		ss := s.newSession()
		s.commit(s.begin(), c)
		return ss
	}
	ss := s.sessions[req.SessionID]
	if ss != nil && bytes.Equal(req.Password, ss.password) {
		return ss
	}
	s.log("session unknown", "session", req.SessionID)
	// A client that knows the number of a session cuts its connection.
	if ss != nil && ss.conn != nil && ss.conn.member == c.member {
		ss.conn.leave()
	}
	return nil
}

// own makes the connection the one of a session.
func (c *conn) own(ss *session, timeout time.Duration) {
	ss.timeout = timeout
	// Another member does not know of the move.
	if old := ss.conn; old != nil && old.member == c.member {
		old.leave()
	}
	ss.conn = c
	c.session = ss.id
	c.srv.touch(ss)
}

// granted returns the session timeout for one that a client asks for, in
// milliseconds.
func (c *config) granted(asked int32) time.Duration {
	ms := min(max(int64(asked), c.minLimit.Milliseconds()), c.maxLim.Milliseconds())
	return time.Duration(max(ms, 1)) * time.Millisecond
}

// newSession makes a session, which no connection owns yet.
func (s *Server) newSession() *session {
	s.lastID++
	ss := &session{id: s.lastID, password: make([]byte, 16)}
	for i := range ss.password {
		ss.password[i] = byte(s.rng.Uint32())
	}
	s.sessions[ss.id] = ss
	return ss
}
