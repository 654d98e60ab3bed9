package zktest

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// session is one that has not ended.
type session struct {
	id       int64
	password []byte
	timeout  time.Duration
	expires  time.Duration // since the server's start
	conn     *conn         // the connection that owns it; nil while there is none
}

// touch puts the end of a session off.
func (s *Server) touch(ss *session) {
	// Sessions end in batches, at whole ticks.
	tick := s.cfg.tick
	ss.expires = (s.since() + ss.timeout).Truncate(tick) + tick
	s.wake(ss.expires)
}

// wake has sessions looked through at a time since the start, if not earlier.
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

// endSession is the transaction with which a session is over: its nodes go and
// its connections are closed, all but the one that asked for it.
func (s *Server) endSession(id int64, by *conn) *txn {
	x := s.begin()
	x.ended = id
	paths := slices.Sorted(maps.Keys(s.tree.ephemerals[id]))
	// ZooKeeper takes them in the order of a hash table.
	s.rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, p := range paths {
		c := change{op: wire.OpDelete, path: p, acl: s.tree.nodes[p].acl}
		s.tree.apply(&c, x)
		x.changes = append(x.changes, c)
	}
	delete(s.sessions, id)
	s.commit(x, by)
	return x
}

// connect answers the first frame of a connection. It reports false when there
// is to be none.
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
	if c.gone || req.LastZxidSeen > c.door.view.zxid {
		s.log("connection refused: the client has seen more", "zxid", req.LastZxidSeen)
		return false
	}
	resp := wire.ConnectResponse{Password: make([]byte, 16), HasReadOnly: req.HasReadOnly}
	ss := s.sessions[req.SessionID]
	switch {
	case req.SessionID == 0:
		ss = s.newSession()
		s.commit(s.begin(), c)
	case ss == nil || !bytes.Equal(req.Password, ss.password):
		s.log("session unknown", "session", req.SessionID)
		// Who knows the number of a session cuts its connection.
		if ss != nil && ss.conn != nil && ss.conn.door == c.door {
			ss.conn.leave()
		}
		c.send(wire.AppendFrame(nil, resp.Append(nil)))
		return false
	}
	ms := min(max(int64(req.Timeout), s.cfg.minLimit.Milliseconds()), s.cfg.maxLim.Milliseconds())
	ss.timeout = time.Duration(max(ms, 1)) * time.Millisecond
	// Another door does not know of the move.
	if old := ss.conn; old != nil && old.door == c.door {
		old.leave()
	}
	ss.conn = c
	c.session = ss.id
	s.touch(ss)
	resp.Timeout, resp.SessionID, resp.Password = int32(ss.timeout.Milliseconds()), ss.id, ss.password
	c.send(wire.AppendFrame(nil, resp.Append(nil)))
	s.log("session connected", "session", ss.id, "timeout", ss.timeout, "new", req.SessionID == 0)
	return true
}

// newSession makes one that nobody has yet.
func (s *Server) newSession() *session {
	s.lastID++
	ss := &session{id: s.lastID, password: make([]byte, 16)}
	for i := range ss.password {
		ss.password[i] = byte(s.rng.Uint32())
	}
	s.sessions[ss.id] = ss
	return ss
}
