package zktest

import (
	"encoding/binary"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

const replyHead = wire.FrameHeader + 16

// answer is what a connection does about a request that was carried out.
type answer struct {
	silent bool // there is no answer
	last   bool // the connection ends
	xid    int32
	zxid   int64
	code   wire.Code
}

// reply queues an answer whose body follows room for the frame's length and
// header in e. Without success there is no body.
func (c *conn) reply(a answer, e *wire.Encoder) {
	if a.silent {
		return
	}
	if a.code != wire.CodeOK {
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
// member can reach it. It reports false, and leaves it unlocked, when the
// connection is closed instead.
func (c *conn) lockLeader(needed bool) bool {
	for {
		c.srv.mu.Lock()
		uncut := c.member.uncut
		if c.gone {
			c.srv.mu.Unlock()
			return false
		}
		if !needed || uncut == nil {
			return true
		}
		c.srv.mu.Unlock()
		select {
		case <-uncut:
		case <-c.done:
			return false
		}
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
		return false
	}
	s := c.srv
	defer s.mu.Unlock()
	ss := s.sessions[c.session]
	if c.moved(ss, &r) {
		s.log("session moved", "session", c.session)
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
	c.reply(a, &e)
	return !a.last && !mute
}

// moved reports whether the client has taken its session to another connection
// and this member notices: the first member, the leader, at any request but a ping,
// the others when they need the leader.
func (c *conn) moved(ss *session, r *request) bool {
	return ss != nil && ss.conn != c && r.Op != wire.OpPing && (r.byLeader() || c.member.index == 0)
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
	case r.Op == wire.OpPing:
		return answer{xid: wire.XidPing, zxid: c.member.view.Zxid()}
	}
	if r.Op == wire.OpSync {
		c.member.catchUp(nil)
	}
	code := c.carryOutRead(r, e)
	return answer{xid: r.xid, zxid: c.member.view.Zxid(), code: code}
}

// rejectMalformed answers a request that could not be read. A write takes a zxid
// all the same, and a bad auth ends the connection.
func (c *conn) rejectMalformed(r *request) answer {
	zxid := c.member.view.Zxid()
	switch {
	case r.Op == wire.OpAuth:
		return answer{silent: true, last: true}
	case isWrite(r.Op):
		x := c.srv.begin()
		c.srv.commit(x, c)
		zxid = x.Zxid
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
	c.ids = ids
	return answer{xid: r.xid}
}
