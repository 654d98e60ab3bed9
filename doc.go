// Package zksync is the root of the module go-zksync: locks on ZooKeeper for Go
// programs. It has no code; import the packages below it.
//
//   - [github.com/zklocker/go-zksync/zksync] is the library: sessions and locks.
//     Its documentation is the guide: which lock to use when, losing a lock,
//     fencing, costs.
//   - [github.com/zklocker/go-zksync/zksync/zksynctest] gives a test a session on a
//     ZooKeeper of its own, in one line.
//   - [github.com/zklocker/go-zksync/zksync/zktest] is that ZooKeeper: a server in
//     memory that needs nothing but Go, can run in virtual time, and makes faults.
//     Use it for your own tests too, whether they use this library or not.
//   - [github.com/zklocker/go-zksync/zksync/zktest/ensemble] is real ZooKeeper for
//     tests, with control over its processes, and a proxy that makes a bad network.
//   - [github.com/zklocker/go-zksync/tracing] shows lock waits in OpenTelemetry:
//     spans, with a link to the holder's span in another process, and metrics.
//   - [github.com/zklocker/go-zksync/cmd/zksync] is the command: it runs other
//     commands under a lock, shows who holds a lock and who waits, and serves the
//     ZooKeeper for tests to programs in other languages. It is a module of its own.
//
// The examples on this page show the library at work. The examples of each type
// are on the library's own page.
package zksync
