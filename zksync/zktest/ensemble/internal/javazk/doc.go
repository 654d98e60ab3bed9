// Package javazk runs real ZooKeeper servers, which are Java processes, on
// loopback.
//
// An [Ensemble] has one or three of them. Its parts know little of each other:
//
//   - install.go finds Java and ZooKeeper's jars.
//   - ports.go finds free ports.
//   - config.go writes the files of a server, and its command line.
//   - process.go and its neighbours start processes that do not outlive this one.
//   - server.go is one server: its process and its log.
//   - links.go joins the servers with each other so that they can be parted.
//   - ensemble.go starts and ends all of it; control.go starts, stops, pauses and
//     cuts single servers.
//   - word.go asks four-letter words, and answers.go reads what comes back.
//   - status.go and watches.go are what the answers say: who leads, who serves,
//     what is watched.
//   - expire.go ends a session from outside.
package javazk
