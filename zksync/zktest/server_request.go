package zktest

import (
	"encoding/binary"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// request is one that has been read. Which fields count depends on op.
type request struct {
	xid     int32
	op      wire.Op
	path    string
	data    []byte
	acl     []wire.ACL
	flags   int32
	ttl     int64
	version int32
	watch   bool
	kind    int32     // of watch: a mode, or a type
	scheme  string    // of auth
	ops     []request // of multi
	part    bool      // of a multi

	// Of setWatches.
	zxid                                       int64
	data1, exist, child, persistent, recursive []string
}

// parseRequest reads what follows the header. The error wraps wire.ErrMalformed.
func parseRequest(h wire.RequestHeader, body []byte) (request, error) {
	d := wire.NewDecoder(body)
	d.AllowNull = true // kazoo's empty strings are
	r := request{xid: h.Xid, op: h.Op}
	if h.Op == wire.OpMulti {
		for d.Err() == nil {
			m := d.MultiHeader()
			if d.Err() != nil || m.Done {
				break
			}
			sub := request{op: m.Type, part: true}
			if !sub.parse(&d, true) {
				return r, wire.ErrMalformed
			}
			r.ops = append(r.ops, sub)
		}
		return r, d.Err()
	}
	r.parse(&d, false)
	return r, d.Err()
}

// pathOf reads a path, the one string that may not be null.
func pathOf(d *wire.Decoder) string {
	d.AllowNull = false
	p := d.String()
	d.AllowNull = true
	return p
}

// parse reads one operation. It reports false for one that can't be part of a
// multi when it is.
func (r *request) parse(d *wire.Decoder, part bool) bool {
	switch r.op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		r.path, r.data, r.acl, r.flags, r.ttl = pathOf(d), d.Buffer(), d.ACLs(), d.Int32(), -1
		if r.op == wire.OpCreateTTL {
			r.ttl = d.Int64()
		}
		return true
	case wire.OpDelete, wire.OpCheck:
		r.path, r.version = pathOf(d), d.Int32()
		return true
	case wire.OpSetData:
		r.path, r.data, r.version = pathOf(d), d.Buffer(), d.Int32()
		return true
	}
	if part {
		return false
	}
	switch r.op {
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		r.path, r.watch = pathOf(d), d.Bool()
	case wire.OpGetACL, wire.OpSync:
		r.path = pathOf(d)
	case wire.OpSetACL:
		r.path, r.acl, r.version = pathOf(d), d.ACLs(), d.Int32()
	case wire.OpAuth:
		r.kind, r.scheme, r.data = d.Int32(), d.String(), d.Buffer()
	case wire.OpSetWatches, wire.OpSetWatches2:
		r.zxid, r.data1, r.exist, r.child = d.Int64(), d.Strings(), d.Strings(), d.Strings()
		if r.op == wire.OpSetWatches2 {
			r.persistent, r.recursive = d.Strings(), d.Strings()
		}
	case wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches:
		r.path, r.kind = pathOf(d), d.Int32()
	}
	return true
}

// known reports whether the server carries a request out. The rest are answered
// as unimplemented.
func known(op wire.Op) bool {
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete, wire.OpSetData,
		wire.OpSetACL, wire.OpMulti, wire.OpCheck, wire.OpReconfig, wire.OpExists, wire.OpGetData, wire.OpGetACL,
		wire.OpGetChildren, wire.OpGetChildren2, wire.OpSync, wire.OpPing, wire.OpAuth, wire.OpSetWatches,
		wire.OpSetWatches2, wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches, wire.OpCloseSession:
		return true
	}
	return false
}

// isWrite is wire's, for the requests that clients send.
func isWrite(op wire.Op) bool { return op.Write() || op == wire.OpCheck }

const replyHead = wire.FrameHeader + 16

// reply queues an answer whose body follows room for the frame's length and
// header in e. Without success there is no body.
func (c *conn) reply(xid int32, zxid int64, code wire.Code, e *wire.Encoder) {
	if code != wire.CodeOK {
		e.Buf = e.Buf[:replyHead]
	}
	b := e.Buf
	binary.BigEndian.PutUint32(b, uint32(len(b)-wire.FrameHeader))
	binary.BigEndian.PutUint32(b[4:], uint32(xid))
	binary.BigEndian.PutUint64(b[8:], uint64(zxid))
	binary.BigEndian.PutUint32(b[16:], uint32(code))
	c.send(b)
}

// lockLeader locks srv.mu, first waiting, if the leader is needed, until the
// door can reach it. It reports false, and leaves it unlocked, when the
// connection is closed instead.
func (c *conn) lockLeader(needed bool) bool {
	for {
		c.srv.mu.Lock()
		uncut := c.door.uncut
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
	if drop {
		return false
	}
	write := isWrite(r.op)
	if !c.lockLeader(write || r.op == wire.OpSync) {
		return false
	}
	s := c.srv
	defer s.mu.Unlock()
	ss := s.sessions[c.session]
	if moved := ss != nil && ss.conn != c; moved && r.op != wire.OpPing && (write || r.op == wire.OpSync || c.door.index == 0) {
		s.log("session moved", "session", c.session)
		return false
	}
	if ss != nil && c.door.uncut == nil {
		s.touch(ss)
	}
	if s.cfg.log != nil {
		s.log("request", "session", c.session, "op", r.op, "path", r.path)
	}
	c.muted = mute
	e := wire.Encoder{Buf: make([]byte, replyHead, replyHead+96)}
	switch {
	case !known(r.op):
		c.reply(r.xid, -1, wire.CodeUnimplemented, &e)
		return false
	case err != nil && r.op == wire.OpAuth: // which is not for the others to answer
		return false
	case err != nil && write:
		x := s.begin()
		s.commit(x, c)
		c.reply(r.xid, x.zxid, wire.CodeMarshallingError, &e)
	case err != nil:
		c.reply(r.xid, c.door.view.zxid, wire.CodeMarshallingError, &e)
	case r.op == wire.OpCloseSession:
		if ss != nil {
			x := s.endSession(c.session, c)
			c.reply(r.xid, x.zxid, wire.CodeOK, &e)
		}
		return false
	case write && ss == nil:
		x := s.begin()
		s.commit(x, c)
		c.reply(r.xid, x.zxid, wire.CodeSessionExpired, &e)
		return false
	case write:
		x, code := c.write1(&r, &e)
		c.reply(r.xid, x.zxid, code, &e)
	case r.op == wire.OpAuth:
		if !c.auth(r.scheme, r.data) {
			c.reply(r.xid, 0, wire.CodeAuthFailed, &e)
			return false
		}
		c.reply(r.xid, 0, wire.CodeOK, &e)
	case r.op == wire.OpPing:
		c.reply(wire.XidPing, c.door.view.zxid, wire.CodeOK, &e)
	default:
		if r.op == wire.OpSync {
			c.door.catchUp(nil)
		}
		code := c.answer(&r, &e)
		c.reply(r.xid, c.door.view.zxid, code, &e)
	}
	return !mute
}
