package queue

import (
	"sync"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// owned has the GUIDs of this process whose nodes an entry answers for, with the
// entry's Order.Of.
var owned sync.Map

func isOwned(g znode.GUID) bool { _, ok := owned.Load(g); return ok }

// claim makes the entry answer for the nodes of a GUID: no sweep deletes them.
func (e *Entry) claim(g znode.GUID) {
	e.guid, e.owned = g, true
	owned.Store(g, e.order.Of)
}

// forget ends the claim: nobody has to answer for the nodes any more.
func (e *Entry) forget() {
	e.tries(nil)
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
