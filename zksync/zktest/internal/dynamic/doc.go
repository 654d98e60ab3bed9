// Package dynamic is ZooKeeper's dynamic configuration: which servers an ensemble has,
// as text and as what a reconfig request makes of it. It knows no server and no
// clock, so each rule can be tested by itself:
//
//   - config.go: a configuration, its text, and its changes.
//   - table.go: the order of the servers.
//   - server.go: the line of one server.
//   - properties.go: the list of lines that replaces a configuration.
package dynamic
