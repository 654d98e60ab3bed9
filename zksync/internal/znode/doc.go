// Package znode defines the names of lock nodes in ZooKeeper, their order, and their
// data. It also knows which paths ZooKeeper accepts.
//
// The names are Curator's, so that Go and Java stand in the same line. The names of
// kazoo and of go-zookeeper's own Lock are read as well. Names and data are a format
// that other processes read: once released they do not change.
//
// Any program may make children in a lock's path. So no function here fails or panics
// on a name or data that it does not know; it reports that it does not know it.
// Nothing here talks to ZooKeeper. All values are plain: they may be copied, and
// different goroutines may use different copies. Any goroutine may call the functions.
package znode
