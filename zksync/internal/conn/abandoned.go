package conn

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// Abandoned reports whether the program has closed its client, which does not
// tell: it answers each request at once with ErrConnectionClosed (conn.go:916 of
// the client). A client that lives says so of a request that it has sent, and
// needs a new connection for each; it pauses, with another error, after each round
// of its servers. So many in a row mean the end. While the client has no
// connection this waits for one.
func (c *Conn) Abandoned() bool {
	zc := c.Zk()
	for range 20 {
		if !c.foreign || zc.State() == zk.StateHasSession {
			return false
		}
		if _, err := zc.Sync("/"); !errors.Is(err, zk.ErrConnectionClosed) {
			return false
		}
	}
	return true
}
