package zktest

import (
	"cmp"
	"encoding/binary"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

const replyHead = wire.FrameHeader + 16

// answer is what a connection does about a request that was carried out.
type answer struct {
	silent bool // there is no answer
	sent   bool // the answer was no ordinary one, and is queued
	last   bool // the connection ends
	xid    int32
	zxid   int64
	code   wire.Code
	failed wire.Code // of a multi that failed: the first error in it. Its own code is OK
	whole  bool      // the body goes out behind an error too
	then   func()    // to do once it is queued, or nil
}

// reply queues an answer whose body follows room for the frame's length and
// header in e. Without success there is no body, as a rule.
func (c *conn) reply(a answer, e *wire.Encoder) {
	if a.silent || a.sent {
		return
	}
	if a.code != wire.CodeOK && !a.whole {
		e.Buf = e.Buf[:replyHead]
	}
	b := e.Buf
	binary.BigEndian.PutUint32(b, uint32(len(b)-wire.FrameHeader))
	binary.BigEndian.PutUint32(b[4:], uint32(a.xid))
	binary.BigEndian.PutUint64(b[8:], uint64(a.zxid))
	binary.BigEndian.PutUint32(b[16:], uint32(a.code))
	c.send(b)
}

// lockLeader locks srv.mu, first waiting, if the leader is needed, until the
// member can reach it and the leader most of the others. It reports false, and leaves
// it unlocked, when the connection is closed instead.
func (c *conn) lockLeader(needed bool) bool {
	for {
		c.srv.mu.Lock()
		uncut := cmp.Or(c.member.uncut, c.srv.few)
		if c.gone {
			c.srv.mu.Unlock()
			return false
		}
		if !needed || uncut == nil {
			return true
		}
		c.waits.Store(true)
		c.srv.mu.Unlock()
		select {
		case <-uncut:
		case <-c.done:
			return false
		}
		c.waits.Store(false)
	}
}

// hear postpones the end of a session whose client goes on sending while an earlier
// request waits. A member that is cut off can't tell the leader of it, and a frame that a
// blackhole holds back is not heard.
func (c *conn) hear() {
	s := c.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessions[c.session]; ss != nil && ss.conn == c && c.member.uncut == nil && c.gate(false) == nil {
		s.touch(ss)
	}
}

// request carries out a request and answers it. It reports false when that was
// the connection's last.
func (c *conn) request(payload []byte) bool {
	h, body, err := wire.ParseRequestHeader(payload)
	if err != nil {
		return false
	}
	r, err := parseRequest(h, body)
	drop, mute := c.hooks(&r)
	if drop || !c.lockLeader(r.byLeader()) {
		c.srv.finishLost(r.record)
		return false
	}
	s := c.srv
	defer s.mu.Unlock()
	ss := s.sessions[c.session]
	if c.moved(ss, &r) {
		s.log("session moved", "session", c.session)
		s.finish(r.record, "", 0, true)
		return false
	}
	if ss != nil && c.member.uncut == nil {
		s.touch(ss)
	}
	if s.cfg.log != nil {
		s.log("request", "session", c.session, "op", r.Op, "path", r.Path)
	}
	c.muted = mute
	e := wire.Encoder{Buf: make([]byte, replyHead, replyHead+96)}
	a := c.carryOut(&r, err, ss, &e)
	if !isAuth(r.Op) && !a.silent {
		c.answered(lastOp(r.Op, a.code), r.xid)
	}
	c.reply(a, &e)
	s.finishAnswer(r.record, a, mute)
	if a.then != nil {
		a.then()
	}
	return !a.last && !mute
}

// moved reports whether the client has taken its session to another connection
// and this member notices: the leader at any request but a ping, the others when they
// need the leader.
func (c *conn) moved(ss *session, r *request) bool {
	return ss != nil && ss.conn != c && r.Op != wire.OpPing && (r.byLeader() || c.member == c.srv.leader)
}

// carryOut does what a request asks for, and writes the body of the answer to e.
// malformed is what its bytes had wrong. ss is nil when the session is over.
// srv.mu is held.
func (c *conn) carryOut(r *request, malformed error, ss *session, e *wire.Encoder) answer {
	switch {
	case !known(r.Op):
		return answer{xid: r.xid, zxid: -1, code: wire.CodeUnimplemented, last: true}
	case malformed != nil:
		return c.rejectMalformed(r)
	case r.Op == wire.OpCloseSession:
		return c.closeSession(r, ss)
	case isWrite(r.Op):
		return c.carryOutWrite(r, ss, e)
	case r.Op == wire.OpAuth:
		return c.authenticate(r)
	case r.Op == wire.OpSASL:
		return c.sasl(r, e)
	case r.Op == wire.OpPing:
		return answer{xid: wire.XidPing, zxid: c.member.view.Zxid()}
	}
	if r.Op == wire.OpSync {
		c.member.catchUp(nil)
	}
	code := c.carryOutRead(r, e)
	return answer{xid: r.xid, zxid: c.member.view.Zxid(), code: code, whole: r.Op == wire.OpMultiRead}
}

// rejectMalformed answers a request that could not be read. A write takes a zxid
// all the same, and a bad auth or sasl ends the connection.
func (c *conn) rejectMalformed(r *request) answer {
	zxid := c.member.view.Zxid()
	switch {
	case isAuth(r.Op):
		return answer{silent: true, last: true}
	case isWrite(r.Op):
		x := c.srv.begin()
		c.srv.commit(x, c)
		zxid = x.Zxid
		if r.Op == wire.OpReconfig {
			return answer{silent: true, last: true}
		}
	}
	return answer{xid: r.xid, zxid: zxid, code: wire.CodeMarshallingError}
}

// closeSession ends the session and then the connection, without an answer if the
// session was over before.
func (c *conn) closeSession(r *request, ss *session) answer {
	if ss == nil {
		return answer{silent: true, last: true}
	}
	x := c.srv.endSession(c.session, c)
	return answer{xid: r.xid, zxid: x.Zxid, last: true}
}

// authenticate adds an identity to the connection. A failure is its last answer.
func (c *conn) authenticate(r *request) answer {
	ids, ok := c.ids.Prove(r.scheme, r.Data)
	if !ok {
		return answer{xid: r.xid, code: wire.CodeAuthFailed, last: true}
	}
	c.ids = ids.WithSuper(c.srv.cfg.super)
	return answer{xid: r.xid}
}
