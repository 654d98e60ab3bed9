package zktest

import (
	"bytes"
	"math/rand/v2"
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
	look     time.Duration // when to look whether it has expired
	place    int           // in the server's ends, -1 outside
}

// touch postpones the end of a session, because its client was heard.
func (s *Server) touch(ss *session) {
	// Sessions end in batches, at whole ticks.
	tick := s.cfg.tick
	ss.expires = (s.since() + ss.timeout).Truncate(tick) + tick
	s.ends.set(ss)
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
	if s.closed || s.idle() {
		return
	}
	for _, ss := range s.ends.take(s.since()) {
		s.log("session expired", "session", ss.id)
		s.endSession(ss.id, nil)
	}
	if len(s.ends) > 0 {
		s.wake(s.ends[0].look)
	}
}

// endSession ends a session by a transaction: it deletes the session's nodes and
// closes its connections, except the one that asked for it.
func (s *Server) endSession(id int64, by *conn) *tree.Txn {
	x := s.begin()
	x.Ended = id
	paths := s.tree.Ephemerals(id)
	// ZooKeeper takes them in the order of a hash table.
	s.luck(id, nodesLuck).Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	s.tree.Remove(x, paths...)
	if ss := s.sessions[id]; ss != nil {
		s.ends.remove(ss)
		delete(s.sessions, id)
		s.requests.end(id)
	}
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
	c.srv.mu.Lock()
	rec := c.record(Request{Session: req.SessionID, Op: "connect"})
	c.srv.mu.Unlock()
	// Sessions are made, and taken over, by the leader alone.
	if !c.lockLeader(true) {
		c.srv.finishLost(rec)
		return false
	}
	defer c.srv.mu.Unlock()
	s := c.srv
	if c.gone || req.LastZxidSeen > c.member.view.Zxid() {
		s.log("connection refused: the client has seen more", "zxid", req.LastZxidSeen)
		s.finish(rec, "", 0, true)
		return false
	}
	c.hasReadOnly = req.HasReadOnly
	ss := c.sessionFor(&req)
	if ss != nil {
		c.own(ss, s.cfg.granted(req.Timeout))
	}
	if req.SessionID == 0 {
		c.answered("SESS", 0)
	}
	c.welcome(ss)
	s.finishConnect(rec, ss)
	if ss != nil {
		s.log("session connected", "session", ss.id, "timeout", ss.timeout, "new", req.SessionID == 0)
	}
	return ss != nil
}

// welcome sends the answer to a connect request. ss is nil if there is no session
// for the client.
func (c *conn) welcome(ss *session) {
	resp := wire.ConnectResponse{Password: make([]byte, 16), HasReadOnly: c.hasReadOnly}
	if ss != nil {
		resp.Timeout, resp.SessionID, resp.Password = int32(ss.timeout.Milliseconds()), ss.id, ss.password
	}
	c.send(wire.AppendFrame(nil, resp.Append(nil)))
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
	c.member.bySession[ss.id] = append(c.member.bySession[ss.id], c)
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
	ss := &session{id: s.lastID, password: make([]byte, 16), place: -1}
	rng := s.luck(ss.id, passwordLuck)
	for i := range ss.password {
		ss.password[i] = byte(rng.Uint32())
	}
	s.sessions[ss.id] = ss
	s.requests.begin(ss.id)
	return ss
}

// What a session's chances are for.
const (
	passwordLuck = iota
	nodesLuck
	nonceLuck
)

// luck returns a source of chance for a session. It depends on no other session, so that
// the order in which sessions begin and end does not change what each of them draws.
func (s *Server) luck(session int64, what uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.cfg.seed, uint64(session)<<8|what))
}
