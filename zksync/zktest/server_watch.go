package zktest

import (
	"maps"
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
	w[p][c] |= m
}

// drop removes modes, and reports whether any of them was set.
func (w watchTable) drop(p string, c *conn, m watchMode) bool {
	had := w[p][c]
	if had&m == 0 {
		return false
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

// trigger sends an event to all connections that watch for it and may read the
// node, except those in skip. It returns the connections that it was meant for.
func (w watchTable) trigger(zxid int64, kind int32, p string, acl []wire.ACL, skip map[*conn]bool) map[*conn]bool {
	var told map[*conn]bool
	for at := p; ; at = tree.Parent(at) {
		// In the order in which they connected: maps have none.
		for _, c := range slices.SortedFunc(maps.Keys(w[at]), byNumber) {
			m := w[at][c]
			hit := m & watchRecursive
			if kind == wire.EventChildrenChanged {
				hit = 0
			}
			if at == p {
				hit |= m & (watchOnce | watchOn)
				w.drop(at, c, watchOnce)
			}
			if hit == 0 || skip[c] || told[c] {
				continue
			}
			if told == nil {
				told = make(map[*conn]bool)
			}
			told[c] = true
			if c.ids.May(tree.PermRead, acl) {
				c.event(zxid, kind, p)
			}
		}
		if at == "/" || at == "." {
			return told
		}
	}
}

func byNumber(a, b *conn) int { return a.number - b.number }

// event queues the frame of a watch that has fired.
func (c *conn) event(zxid int64, kind int32, p string) {
	h := wire.ReplyHeader{Xid: wire.XidEvent, Zxid: zxid}.Append(nil)
	c.send(wire.AppendFrame(nil, wire.Event{Type: kind, State: wire.StateConnected, Path: p}.Append(h)))
}

// setWatches sets the watches again that a client had on its last connection, and
// sends the events of the changes since then.
func (c *conn) setWatches(r *request) {
	m, zxid := c.member, c.member.view.Zxid()
	again := func(paths []string, table watchTable, changed int32, at func(wire.Stat) int64) {
		for _, p := range paths {
			switch n := m.view.Read(p); {
			case n == nil:
				c.event(zxid, wire.EventDeleted, p)
			case at(n.Stat()) > r.zxid:
				c.event(zxid, changed, p)
			default:
				table.add(p, c, watchOnce)
			}
		}
	}
	again(r.data1, m.data, wire.EventDataChanged, func(st wire.Stat) int64 { return st.Mzxid })
	for _, p := range r.exist {
		if m.view.Read(p) != nil {
			c.event(zxid, wire.EventCreated, p)
		} else {
			m.data.add(p, c, watchOnce)
		}
	}
	again(r.child, m.child, wire.EventChildrenChanged, func(st wire.Stat) int64 { return st.Pzxid })
	for _, p := range r.persistent {
		c.watchOn(p, watchOn)
	}
	for _, p := range r.recursive {
		c.watchOn(p, watchRecursive)
	}
}

func (c *conn) watchOn(p string, m watchMode) {
	c.member.data.add(p, c, m)
	c.member.child.add(p, c, m)
}

// The types that checkWatches and removeWatches know.
const (
	watcherChildren            int32 = 1
	watcherData                int32 = 2
	watcherAny                 int32 = 3
	watcherPersistent          int32 = 4
	watcherPersistentRecursive int32 = 5
)

// watches answers checkWatches and, if remove is true, removeWatches.
func (c *conn) watches(r *request, remove bool) wire.Code {
	const all = watchOnce | watchOn | watchRecursive
	type place struct {
		table watchTable
		modes watchMode
	}
	data, child := c.member.data, c.member.child
	var places []place
	switch r.kind {
	case watcherChildren:
		places = []place{{child, all}}
	case watcherData:
		places = []place{{data, all}}
	case watcherAny:
		places = []place{{data, all}, {child, all}}
	case watcherPersistent:
		places = []place{{data, watchOn}, {child, watchOn}}
	case watcherPersistentRecursive:
		places = []place{{data, watchRecursive}, {child, watchRecursive}}
	default:
		return wire.CodeMarshallingError
	}
	found := false
	for _, pl := range places {
		if remove {
			found = pl.table.drop(r.Path, c, pl.modes) || found
		} else {
			found = found || pl.table[r.Path][c]&pl.modes != 0
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
