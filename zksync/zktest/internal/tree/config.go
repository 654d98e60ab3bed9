package tree

import "github.com/zklocker/go-zksync/zksync/internal/wire"

// ConfigPath is the path of the node with the servers of the ensemble.
const ConfigPath = "/zookeeper/config"

// Configure sets the data of the configuration's node at a time in milliseconds since
// 1970. It makes no transaction: ZooKeeper does so when a server starts.
func (t *Tree) Configure(data []byte, at int64) {
	n := t.nodes[ConfigPath]
	n.data, n.mtime, n.version = data, at, -1
}

// Reconfigure sets the data of the configuration's node, or returns the error if the
// client may not do that.
func (t *Tree) Reconfigure(x *Txn, data []byte, who Client) wire.Code {
	n := t.nodes[ConfigPath]
	if !who.IDs.May(PermWrite, n.acl) {
		return wire.CodeNoAuth
	}
	t.record(x, Change{Op: wire.OpReconfig, Path: ConfigPath, ACL: n.acl, data: data})
	return wire.CodeOK
}
