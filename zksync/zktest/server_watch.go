package zktest

import (
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// watchMode is how a connection watches a path. Several may be in force at once.
type watchMode uint8

const (
	watchOnce      watchMode = 1 << iota // until it fires
	watchOn                              // until it is removed
	watchRecursive                       // until it is removed, with all that is below
)

// watchTable holds the watches of one kind of one member: on nodes' data and
// existence, or on their children.
type watchTable map[string]map[*conn]watchMode

func (w watchTable) add(p string, c *conn, m watchMode) {
	if w[p] == nil {
		w[p] = make(map[*conn]watchMode)
	}
	if w[p][c] == 0 {
		c.watched[p]++
	}
	if m&^w[p][c]&watchRecursive != 0 {
		c.member.recursive++
	}
	w[p][c] |= m
}

// drop removes modes, and reports whether any of them was set.
func (w watchTable) drop(p string, c *conn, m watchMode) bool {
	had := w[p][c]
	if had&m == 0 {
		return false
	}
	if had&m&watchRecursive != 0 {
		c.member.recursive--
	}
	if had &^= m; had != 0 {
		w[p][c] = had
		return true
	}
	if c.watched[p]--; c.watched[p] == 0 {
		delete(c.watched, p)
	}
	delete(w[p], c)
	if len(w[p]) == 0 {
		delete(w, p)
	}
	return true
}

// trigger sends an event to all connections that watch for it in a table and may read
// the node, except those in skip. It returns the connections that it was meant for.
func (m *Member) trigger(w watchTable, zxid int64, kind int32, p string, acl []wire.ACL, skip map[*conn]bool) map[*conn]bool {
	var told map[*conn]bool
	var frame []byte // the same for all
	for at := p; ; at = tree.Parent(at) {
		for _, c := range w.hit(at, kind, at == p) {
			if at == p {
				w.drop(at, c, watchOnce)
			}
			if skip[c] || told[c] {
				continue
			}
			if told == nil {
				told = make(map[*conn]bool)
			}
			told[c] = true
			if c.ids.May(tree.PermRead, acl) {
				if frame == nil {
					frame = eventFrame(zxid, kind, p)
				}
				c.send(frame)
			}
		}
		if at == "/" || m.recursive == 0 {
			return told
		}
	}
}

// hit returns the connections with a watch on a path that an event concerns, in the
// order in which they connected: maps have none. own says that the event is the path's
// own, not one of a node below.
func (w watchTable) hit(at string, kind int32, own bool) (list []*conn) {
	var modes watchMode
	if kind != wire.EventChildrenChanged {
		modes = watchRecursive
	}
	if own {
		modes |= watchOnce | watchOn
	}
	for c, m := range w[at] {
		if m&modes != 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, byNumber)
	return list
}

func byNumber(a, b *conn) int { return a.number - b.number }

// event queues the frame of a watch that has fired.
func (c *conn) event(zxid int64, kind int32, p string) { c.send(eventFrame(zxid, kind, p)) }

func eventFrame(zxid int64, kind int32, p string) []byte {
	h := wire.ReplyHeader{Xid: wire.XidEvent, Zxid: zxid}.Append(nil)
	return wire.AppendFrame(nil, wire.Event{Type: kind, State: wire.StateConnected, Path: encoded(p)}.Append(h))
}

// setWatches sets the watches again that a client had on its last connection, and
// sends the events of the changes since then.
func (c *conn) setWatches(r *request) {
	m, zxid := c.member, c.member.view.Zxid()
	again := func(paths []string, watch func(string, watchMode), changed int32, at func(wire.Stat) int64) {
		for _, p := range paths {
			switch n := m.view.Read(p); {
			case n == nil:
				c.event(zxid, wire.EventDeleted, p)
			case at(n.Stat()) > r.zxid:
				c.event(zxid, changed, p)
			default:
				watch(p, watchOnce)
			}
		}
	}
	again(r.data1, c.watchData, wire.EventDataChanged, func(st wire.Stat) int64 { return st.Mzxid })
	for _, p := range r.exist {
		if m.view.Read(p) != nil {
			c.event(zxid, wire.EventCreated, p)
		} else {
			c.watchData(p, watchOnce)
		}
	}
	again(r.child, c.watchChildren, wire.EventChildrenChanged, func(st wire.Stat) int64 { return st.Pzxid })
	for _, p := range r.persistent {
		c.watchOn(p, watchOn)
	}
	for _, p := range r.recursive {
		c.watchOn(p, watchRecursive)
	}
}

func (c *conn) watchOn(p string, m watchMode) {
	c.watchData(p, m)
	c.watchChildren(p, m)
}

// watchData sets a watch on a node's data and existence.
func (c *conn) watchData(p string, m watchMode) {
	c.watcher = true
	c.member.data.add(p, c, m)
}

// watchChildren sets a watch on a node's children.
func (c *conn) watchChildren(p string, m watchMode) { c.member.child.add(p, c, m) }

// The types that checkWatches and removeWatches know.
const (
	watcherChildren int32 = 1
	watcherData     int32 = 2
	watcherAny      int32 = 3
)

// watches answers checkWatches and, if remove is true, removeWatches.
func (c *conn) watches(r *request, remove bool) wire.Code {
	const all = watchOnce | watchOn | watchRecursive
	var tables []watchTable
	switch r.kind {
	case watcherChildren:
		tables = []watchTable{c.member.child}
	case watcherData:
		tables = []watchTable{c.member.data}
	case watcherAny:
		tables = []watchTable{c.member.data, c.member.child}
	default: // also those of lasting watches, which ZooKeeper has since 3.9
		return wire.CodeMarshallingError
	}
	found := false
	for _, w := range tables {
		if remove {
			found = w.drop(r.Path, c, all) || found
		} else {
			found = found || w[r.Path][c] != 0
		}
	}
	if !found {
		return wire.CodeNoWatcher
	}
	return wire.CodeOK
}

// unwatch removes all watches of a connection.
func (c *conn) unwatch() {
	const all = watchOnce | watchOn | watchRecursive
	for p := range c.watched {
		c.member.data.drop(p, c, all)
		c.member.child.drop(p, c, all)
	}
}
