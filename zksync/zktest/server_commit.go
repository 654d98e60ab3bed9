package zktest

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// begin starts a transaction. It takes a zxid even if it fails.
func (s *Server) begin() *tree.Txn { return s.tree.Begin(time.Now().UnixMilli()) }

// commit shows a transaction to the doors, after it was applied to the leader's
// tree. by is the connection that it came from, or nil: its door is up to date
// before the client gets its answer.
func (s *Server) commit(x *tree.Txn, by *conn) {
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

// catchUp applies the transactions that a door has not seen yet.
func (d *Door) catchUp(by *conn) {
	for _, x := range d.pending {
		d.view.Replay(x)
		d.fire(x, by)
	}
	d.pending = nil
	// A new epoch takes a zxid and is not among the pending.
	d.view.SetZxid(d.srv.tree.Zxid())
}

// part gives a door its own tree, or the leader's again.
func (d *Door) part() {
	own := d.lags || d.uncut != nil
	switch {
	case own && d.view == d.srv.tree:
		d.view = d.srv.tree.Clone()
	case !own && d.view != d.srv.tree:
		d.catchUp(nil)
		d.view = d.srv.tree
	}
}

// fire sends the events of a transaction to the watchers of a door.
func (d *Door) fire(x *tree.Txn, by *conn) {
	for i := range x.Changes {
		c := &x.Changes[i]
		switch c.Op {
		case wire.OpCreate:
			d.data.trigger(x.Zxid, wire.EventCreated, c.Path, c.ACL, nil)
			d.fireChildren(x.Zxid, c.Path)
		case wire.OpDelete:
			told := d.data.trigger(x.Zxid, wire.EventDeleted, c.Path, c.ACL, nil)
			d.child.trigger(x.Zxid, wire.EventDeleted, c.Path, c.ACL, told)
			d.fireChildren(x.Zxid, c.Path)
		case wire.OpSetData:
			d.data.trigger(x.Zxid, wire.EventDataChanged, c.Path, c.ACL, nil)
		}
	}
	if x.Ended == 0 {
		return
	}
	for _, c := range d.list() {
		if c.session == x.Ended && c != by {
			c.leave()
		}
	}
}

func (d *Door) fireChildren(zxid int64, p string) {
	p = tree.Parent(p)
	var acl []wire.ACL
	if n := d.view.Node(p); n != nil { // a later change may have taken it away
		acl = n.ACL()
	}
	d.child.trigger(zxid, wire.EventChildrenChanged, p, acl, nil)
}
