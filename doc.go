// Package zksync is the root of the module go-zksync: locks for Go programs on
// ZooKeeper. It has no code; import the packages below it.
//
//   - [github.com/zklocker/go-zksync/zksync] is the library: sessions and locks.
//     Its documentation is the guide: which lock when, losing a lock, fencing,
//     what it costs.
//   - [github.com/zklocker/go-zksync/zksync/zktest] is ZooKeeper for tests: real
//     servers on loopback, and faults for them and for the network.
//   - [github.com/zklocker/go-zksync/cmd/zksync] is the command: it runs another
//     command under a lock.
//
// The examples of this page show the library at work; those of each type are on
// the library's own page.
package zksync
