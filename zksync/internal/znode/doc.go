// Package znode is how lock nodes look in ZooKeeper: what they are called, how
// they are ordered, and what is in them. It also knows which paths ZooKeeper
// takes.
//
// The names are Curator's, so that Go and Java stand in the same line; those of
// kazoo and of go-zookeeper's own Lock are read as well. Names and payloads are
// a format that other processes read: once released they do not change.
//
// Children of a lock's path may have been made by anybody. Nothing here fails or
// panics on a name or a payload it does not know; it says that it does not know
// it. Nothing here talks to ZooKeeper. All values are plain: they may be copied,
// and different goroutines may use different copies; functions may be called
// from any goroutine.
package znode
