// Package measure compares ways to lock on one server, in one run.
//
// A [Team] is a way to lock with its sessions: [Ours], [OursHold], [ZkLock], or [Floor],
// which makes a node and deletes it and locks nothing. A [Workload] says who locks what.
// [Compare] has the teams work by turns, in short rounds, so that a busy machine slows
// all of them. What it reports is the median of the rounds, and the median of the ratios
// of two teams in the same round. Requests and events are counted on the wire, by a
// [Meter] that all of a team's connections go through.
//
// The benchmarks, the command "zksync bench" and the module bench use this package, so
// that their figures mean the same.
package measure
