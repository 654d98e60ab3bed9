package queue

import (
	"sync"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// owned has the GUIDs of this process whose nodes an entry answers for, with that *Entry.
var owned sync.Map

func isOwned(g znode.GUID) bool { _, ok := owned.Load(g); return ok }

// ownerOf returns the entry of this process that answers for a node, or nil.
func ownerOf(n znode.Name) *Entry {
	if !n.HasGUID {
		return nil
	}
	v, _ := owned.Load(n.GUID)
	e, _ := v.(*Entry)
	return e
}

// isKin reports whether another entry of the same session answers for a node.
func (e *Entry) isKin(n znode.Name) bool {
	o := ownerOf(n)
	return o != nil && o.c == e.c
}

// claim makes the entry answer for the nodes of a GUID: no sweep deletes them.
func (e *Entry) claim(g znode.GUID) {
	e.guid, e.owned = g, true
	owned.Store(g, e)
}

// forget ends the claim: nobody has to answer for the nodes any more.
func (e *Entry) forget() {
	e.tries(nil)
	e.disown()
}

// disown ends the claim on nodes that may stand. The connection is closed, and nobody
// deletes them. A claim would keep the entry, and with it the connection, in memory.
func (e *Entry) disown() {
	if e.owned {
		e.owned = false
		owned.Delete(e.guid)
	}
}

// sweep deletes a node of this process that no entry answers for, if it belongs to a
// session of ours. A copy of the process elsewhere has other sessions.
func sweep(c *conn.Conn, node string, g znode.GUID) {
	if _, busy := owned.LoadOrStore(g, nil); busy {
		return
	}
	defer owned.Delete(g)
	if st, _, err := c.Stat(node); err == nil && c.Mine(st.EphemeralOwner) {
		_, _ = c.Delete(node)
	}
}
