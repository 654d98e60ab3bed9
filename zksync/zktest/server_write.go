package zktest

import (
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// carryOutWrite carries out a request that is a transaction. It takes a zxid even
// if it fails.
func (c *conn) carryOutWrite(r *request, ss *session, e *wire.Encoder) answer {
	s := c.srv
	x := s.begin()
	a := answer{xid: r.xid, zxid: x.Zxid}
	if ss == nil {
		s.commit(x, c)
		a.code, a.last = wire.CodeSessionExpired, true
		return a
	}
	who := tree.Client{Session: c.session, IDs: c.ids, SASL: s.cfg.users != nil}
	switch r.Op {
	case wire.OpMulti:
		outs, failed, code := s.tree.Multi(x, r.ops, who)
		if a.code = code; failed {
			a.failed = firstError(outs)
		}
		appendOutcomes(e, outs, failed)
	case wire.OpReconfig:
		c.reconfigure(x, r, &a, e)
	case wire.OpDeleteContainer:
		// ZooKeeper takes the request's header for the begin of the path, whoever
		// sends it.
		a.code = wire.CodeBadArguments
	case wire.OpCreateSession:
		c.welcome(ss)
		a.sent = true
	default:
		out := s.tree.Write(x, &r.Request, who)
		a.code = out.Code
		appendOutcome(e, r.Op, out)
	}
	s.commit(x, c)
	if s.tree.SelfGoing() {
		s.reapLater()
	}
	return a
}

// firstError returns the error for which a multi failed. The parts before it have the
// code OK, and those behind it RuntimeInconsistency.
func firstError(outs []tree.Outcome) wire.Code {
	for _, out := range outs {
		if out.Code != wire.CodeOK {
			return out.Code
		}
	}
	return wire.CodeOK
}

// appendOutcome writes what a single request came to.
func appendOutcome(e *wire.Encoder, op wire.Op, out tree.Outcome) {
	switch op {
	case wire.OpCreate:
		e.String(out.Path)
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		e.String(out.Path)
		e.Stat(out.Stat)
	case wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		e.Stat(out.Stat)
	}
}

// appendOutcomes writes what the parts of a multi came to.
func appendOutcomes(e *wire.Encoder, outs []tree.Outcome, failed bool) {
	for _, out := range outs {
		if failed {
			e.MultiHeader(wire.MultiHeader{Type: wire.OpError, Err: out.Code})
			e.Int32(int32(out.Code))
			continue
		}
		e.MultiHeader(wire.MultiHeader{Type: out.Op})
		switch out.Op {
		case wire.OpCreate:
			e.String(out.Path)
		case wire.OpCreate2:
			e.String(out.Path)
			e.Stat(out.Stat)
		case wire.OpSetData:
			e.Stat(out.Stat)
		}
	}
	e.MultiEnd()
}
