package zktest

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// begin starts a transaction. It takes a zxid even if it fails.
func (s *Server) begin() *tree.Txn { return s.tree.Begin(time.Now().UnixMilli()) }

// commit shows a transaction to the members, after it was applied to the leader's
// tree. by is the connection that it came from, or nil: its member is up to date
// before the client gets its answer.
func (s *Server) commit(x *tree.Txn, by *conn) {
	for _, m := range s.members {
		if m.view == s.tree {
			m.fire(x, by)
			continue
		}
		m.pending = append(m.pending, x)
		if by != nil && by.member == m && m.uncut == nil {
			m.catchUp(by)
		}
	}
}

// catchUp applies the transactions that a member has not seen yet.
func (m *Member) catchUp(by *conn) {
	for _, x := range m.pending {
		m.view.Replay(x)
		m.fire(x, by)
	}
	m.pending = nil
	// A new epoch takes a zxid and is not among the pending.
	m.view.SetZxid(m.srv.tree.Zxid())
}

// part gives a member its own tree, or the leader's again.
func (m *Member) part() {
	own := m.lags || m.uncut != nil
	switch {
	case own && m.view == m.srv.tree:
		m.view = m.srv.tree.Clone()
	case !own && m.view != m.srv.tree:
		m.catchUp(nil)
		m.view = m.srv.tree
	}
}

// fire sends the events of a transaction to the watchers of a member.
func (m *Member) fire(x *tree.Txn, by *conn) {
	for i := range x.Changes {
		c := &x.Changes[i]
		switch c.Op {
		case wire.OpCreate:
			m.trigger(m.data, x.Zxid, wire.EventCreated, c.Path, c.ACL, nil)
			m.fireChildren(x.Zxid, c.Path)
		case wire.OpDelete:
			told := m.trigger(m.data, x.Zxid, wire.EventDeleted, c.Path, c.ACL, nil)
			m.trigger(m.child, x.Zxid, wire.EventDeleted, c.Path, c.ACL, told)
			m.fireChildren(x.Zxid, c.Path)
		case wire.OpSetData, wire.OpReconfig:
			m.trigger(m.data, x.Zxid, wire.EventDataChanged, c.Path, c.ACL, nil)
		}
	}
	if x.Ended == 0 {
		return
	}
	for _, c := range m.having(x.Ended) {
		if c != by {
			c.leave()
		}
	}
}

func (m *Member) fireChildren(zxid int64, p string) {
	p = tree.Parent(p)
	var acl []wire.ACL
	if n := m.view.Node(p); n != nil { // a later change may have taken it away
		acl = n.ACL()
	}
	m.trigger(m.child, zxid, wire.EventChildrenChanged, p, acl, nil)
}
