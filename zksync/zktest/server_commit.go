package zktest

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// begin starts a transaction, which has its zxid whatever becomes of it.
func (s *Server) begin() *txn {
	s.tree.zxid++
	return &txn{zxid: s.tree.zxid, at: time.Now().UnixMilli()}
}

// commit shows a transaction, applied to the leader's tree already, to the doors.
// by is the connection it came from, or nil: its own door is up to date before
// it has an answer.
func (s *Server) commit(x *txn, by *conn) {
	for _, d := range s.doors {
		if d.view == s.tree {
			d.fire(x, by)
			continue
		}
		d.pending = append(d.pending, x)
		if by != nil && by.door == d && d.uncut == nil {
			d.catchUp(by)
		}
	}
}

// catchUp applies what a door has not seen yet.
func (d *Door) catchUp(by *conn) {
	for _, x := range d.pending {
		for i := range x.changes {
			d.view.apply(&x.changes[i], x)
		}
		d.view.zxid = max(d.view.zxid, x.zxid)
		d.fire(x, by)
	}
	d.pending = nil
	// What took a zxid and changed nothing is not among the pending.
	d.view.zxid = d.srv.tree.zxid
}

// part gives a door a tree of its own, or the leader's again.
func (d *Door) part() {
	own := d.lags || d.uncut != nil
	switch {
	case own && d.view == d.srv.tree:
		d.view = d.srv.tree.clone()
	case !own && d.view != d.srv.tree:
		d.catchUp(nil)
		d.view = d.srv.tree
	}
}

// fire tells those who watch through a door what a transaction has changed.
func (d *Door) fire(x *txn, by *conn) {
	for i := range x.changes {
		c := &x.changes[i]
		switch c.op {
		case wire.OpCreate:
			d.data.trigger(x.zxid, wire.EventCreated, c.path, c.acl, nil)
			d.fireChildren(x.zxid, c.path)
		case wire.OpDelete:
			told := d.data.trigger(x.zxid, wire.EventDeleted, c.path, c.acl, nil)
			d.child.trigger(x.zxid, wire.EventDeleted, c.path, c.acl, told)
			d.fireChildren(x.zxid, c.path)
		case wire.OpSetData:
			d.data.trigger(x.zxid, wire.EventDataChanged, c.path, c.acl, nil)
		}
	}
	if x.ended == 0 {
		return
	}
	for _, c := range d.list() {
		if c.session == x.ended && c != by {
			c.leave()
		}
	}
}

func (d *Door) fireChildren(zxid int64, p string) {
	p = parentOf(p)
	var acl []wire.ACL
	if n := d.view.nodes[p]; n != nil { // a later change may have taken it away
		acl = n.acl
	}
	d.child.trigger(zxid, wire.EventChildrenChanged, p, acl, nil)
}
