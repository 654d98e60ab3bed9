package zktest

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/internal/javazk"
)

// ErrNotServing is wrapped by the errors of [Ensemble.Metrics] and what builds on
// it when the server has no quorum.
var ErrNotServing = javazk.ErrNotServing

// FourLetter sends one of ZooKeeper's four-letter words to server i and returns
// its answer as it is. A server that does not run or is paused is an error, and
// so is one that has not answered within six seconds. A server without a quorum
// answers most words with a line that says so.
func (e *Ensemble) FourLetter(i int, word string) (answer string, err error) {
	return e.java.FourLetter(i, word)
}

// Leader returns the index of the server that leads, which is 0 for a single
// one, and -1 when there is none. Servers that are paused or cut don't lead, and
// the rest only when it is a majority, whatever they still say of themselves.
func (e *Ensemble) Leader() int { return e.java.Leader() }

// WaitLeader waits until a server leads, for at most timeout, and returns its
// index, or -1 and an error.
func (e *Ensemble) WaitLeader(timeout time.Duration) (int, error) { return e.java.WaitLeader(timeout) }

// WaitServing waits until there is a leader and every server serves that runs
// and is neither paused nor cut, for at most timeout.
func (e *Ensemble) WaitServing(timeout time.Duration) error { return e.java.WaitServing(timeout) }

// Metrics returns what server i answers to "mntr", by its names ("zk_watch_count",
// "zk_num_alive_connections", ...). The error of a server without a quorum wraps
// [ErrNotServing]. The map is the caller's.
func (e *Ensemble) Metrics(i int) (map[string]string, error) { return e.java.Metrics(i) }

// Watches is what a server keeps for its clients. The zero value is no watches.
// Copies share the maps, which several goroutines may read.
type Watches struct {
	// Total counts the watches of both kinds. However often a connection
	// watches a path, it counts once a kind.
	Total int
	// Data counts those on a node's data and existence (get and exists). The
	// rest of Total are on children, of which ZooKeeper tells only the number:
	// the maps hold none of them.
	Data      int
	ByPath    map[string][]int64 // the sessions that watch a node's data, in order
	BySession map[int64][]string // the nodes whose data a session watches, in order
}

// Watches asks server i for the watches it keeps. The parts are asked for one
// after the other: while watches come and go they may disagree.
func (e *Ensemble) Watches(i int) (Watches, error) {
	w, err := e.java.Watches(i)
	return Watches(w), err
}

// WatchCount is the number of watches of both kinds on all servers that run and
// are not paused. One that has no quorum has none.
func (e *Ensemble) WatchCount() (int, error) { return e.java.WatchCount() }

// Connection is one client's connection as the server sees it. The zero value is
// none. Copies share Fields, which several goroutines may read.
type Connection struct {
	Addr    string            // the client's, host and port
	Session int64             // its session
	Fields  map[string]string // what "cons" tells: "recved", "sent", "queued", "to" (timeout in ms), "lop" (last request), ...
}

// Connections returns the connections that have a session on server i, in the
// order in which the server tells them, which is none.
func (e *Ensemble) Connections(i int) ([]Connection, error) {
	found, err := e.java.Connections(i)
	if err != nil {
		return nil, err
	}
	var list []Connection
	for _, c := range found {
		list = append(list, Connection(c))
	}
	return list, nil
}
