// Package tree is the tree of nodes of the embedded server: it decides what a
// request may do, and does it.
//
// A [Tree] is a value in memory. It knows no connection, no clock, no goroutine
// and no mutex: its owner passes the time of a transaction and the identity of
// the client, and guards the tree. So each rule of ZooKeeper about nodes can be
// tested without a server:
//
//   - node.go: a node, and its Stat.
//   - tree.go: the nodes, and who finds them: by path, by session, by kind.
//   - txn.go: a transaction, its changes, and how they apply to a tree.
//   - write.go: a request that writes, alone or as a part of a multi.
//   - create.go and check.go: what a request may do, and the error if it may not.
//   - given.go: nodes that are there without a request.
//   - config.go: the node with the servers of the ensemble.
//   - acl.go: who may do what, and which ACLs are valid.
//   - path.go: which paths are valid.
//
// A transaction is first applied to the leader's tree, where it is checked. Its
// changes are then replayed on the copies of the members that lag: a change says
// what happens, not what was asked for, so it has the same effect on each copy.
package tree
