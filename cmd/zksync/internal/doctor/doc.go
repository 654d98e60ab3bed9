// Package doctor examines a ZooKeeper ensemble for the command "zksync doctor".
//
// It works in two steps. [Doctor.Examine] collects facts: it opens connections, asks
// four-letter words, opens a session with each server, and tries out what locks need.
// [Report.Judge] turns the facts into findings, without any request.
//
//   - doctor.go: the order of the examination
//   - probe.go, word.go: one server, without package zksync
//   - session.go: one server, by a session of package zksync
//   - access.go, lock.go: what the ensemble lets these credentials do, and what it costs
//   - judge*.go: from facts to findings
//   - report.go, table.go: what is printed
//
// Invariants: the doctor changes nothing but below nodes of its own, which are ephemeral,
// or which the servers delete when they are empty. It never prints a credential. A fact
// that could not be found out is absent from the report, and is no finding by itself.
package doctor
