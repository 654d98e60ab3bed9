package ensemble

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/javazk"
)

// ErrNotServing is wrapped by the errors of [Ensemble.Metrics] and
// [Ensemble.Watches] if the server has no quorum.
var ErrNotServing = javazk.ErrNotServing

// FourLetter sends one of ZooKeeper's four-letter words to server i, and returns the
// answer unchanged. It returns an error if the server does not run, is paused, or
// does not answer within six seconds. A server without a quorum answers most words
// with a line that says so.
func (e *Ensemble) FourLetter(i int, word string) (answer string, err error) {
	return e.java.FourLetter(i, word)
}

// Leader returns the index of the leader, or -1 if there is none. A single server
// that serves is its own leader. A server that is paused or cut does not lead,
// whatever it says of itself, and the others have a leader only if they are a
// majority.
func (e *Ensemble) Leader() int { return e.java.Leader() }

// WaitLeader waits for a leader, for at most timeout, and returns its index. After
// the timeout it returns -1 and an error.
func (e *Ensemble) WaitLeader(timeout time.Duration) (int, error) { return e.java.WaitLeader(timeout) }

// WaitServing waits until there is a leader and each server that runs, and is
// neither paused nor cut, serves. After the timeout it returns an error.
func (e *Ensemble) WaitServing(timeout time.Duration) error { return e.java.WaitServing(timeout) }

// Metrics returns the answer of server i to "mntr", by the names of the metrics
// ("zk_watch_count", "zk_num_alive_connections", ...). The error wraps
// [ErrNotServing] if the server has no quorum. The map is the caller's.
func (e *Ensemble) Metrics(i int) (map[string]string, error) { return e.java.Metrics(i) }

// Watches describes the watches that a server keeps for its clients. The zero value
// means no watches. Copies share the maps, which several goroutines may read.
type Watches struct {
	// Total counts the watches of both kinds. A connection that watches a path
	// several times counts once a kind.
	Total int
	// Data counts the watches on a node's data and existence (get and exists). The
	// rest of Total are watches on children. ZooKeeper tells only their number, so
	// the maps contain none of them.
	Data      int
	ByPath    map[string][]int64 // the sessions that watch a node's data, in order
	BySession map[int64][]string // the nodes whose data a session watches, in order
}

// Watches asks server i for its watches. It asks for the parts one after the other,
// so they may disagree while watches come and go.
func (e *Ensemble) Watches(i int) (Watches, error) {
	w, err := e.java.Watches(i)
	return Watches(w), err
}

// WatchCount returns the number of watches of both kinds on all servers that run
// and are not paused. A server without a quorum has none.
func (e *Ensemble) WatchCount() (int, error) { return e.java.WatchCount() }

// Connection is one client's connection, as the server sees it. The zero value means
// no connection. Copies share Fields, which several goroutines may read.
type Connection struct {
	Addr    string            // the client's, host and port
	Session int64             // its session
	Fields  map[string]string // from the answer to "cons": "recved", "sent", "queued", "to" (timeout in ms), "lop" (last request), ...
}

// Connections returns the connections on server i that have a session, in no
// particular order.
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
