package zktest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Metrics returns what server i answers to "mntr", by its names ("zk_watch_count",
// "zk_num_alive_connections", ...). The error of a server without a quorum wraps
// [ErrNotServing]. The map is the caller's.
func (e *Ensemble) Metrics(i int) (map[string]string, error) {
	answer, err := e.FourLetter(i, "mntr")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(answer, notServing) {
		return nil, fmt.Errorf("%w: server %d", ErrNotServing, i)
	}
	m := make(map[string]string)
	for line := range strings.Lines(answer) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			m[key] = value
		}
	}
	if len(m) == 0 {
		return nil, fmt.Errorf("zktest: metrics of server %d: %q", i, strings.TrimSpace(answer))
	}
	return m, nil
}

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
	m, err := e.Metrics(i)
	if err != nil {
		return Watches{}, err
	}
	total, err := strconv.Atoi(m["zk_watch_count"])
	if err != nil {
		return Watches{}, fmt.Errorf("zktest: watches of server %d: %w", i, err)
	}
	answer, err := e.FourLetter(i, "wchp")
	if err != nil {
		return Watches{}, err
	}
	w := Watches{Total: total, ByPath: make(map[string][]int64), BySession: make(map[int64][]string)}
	var path string
	for line := range strings.Lines(answer) {
		line = strings.TrimRight(line, "\r\n")
		session, ok := strings.CutPrefix(line, "\t")
		if !ok {
			path = line
			continue
		}
		id, err := parseSession(session)
		if err != nil {
			return Watches{}, fmt.Errorf("zktest: watches of server %d: %w", i, err)
		}
		w.Data++
		w.ByPath[path] = append(w.ByPath[path], id)
		w.BySession[id] = append(w.BySession[id], path)
	}
	for _, ids := range w.ByPath {
		slices.Sort(ids)
	}
	for _, paths := range w.BySession {
		slices.Sort(paths)
	}
	return w, nil
}

// parseSession reads a session id as ZooKeeper prints it: "0x" and the hex digits
// of an unsigned number.
func parseSession(text string) (int64, error) {
	id, err := strconv.ParseUint(text, 0, 64)
	return int64(id), err
}

// WatchCount is the number of watches of both kinds on all servers that run and
// are not paused. One that has no quorum has none.
func (e *Ensemble) WatchCount() (int, error) {
	total := 0
	for i, s := range e.servers {
		if st := e.state(s); !st.running || st.paused {
			continue
		}
		m, err := e.Metrics(i)
		if errors.Is(err, ErrNotServing) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(m["zk_watch_count"])
		if err != nil {
			return 0, fmt.Errorf("zktest: watches of server %d: %w", i, err)
		}
		total += n
	}
	return total, nil
}

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
	answer, err := e.FourLetter(i, "cons")
	if err != nil {
		return nil, err
	}
	var list []Connection
	for line := range strings.Lines(answer) {
		// " /127.0.0.1:40822[1](queued=0,recved=5,sent=5,sid=0x1000,...)"
		addr, rest, ok := strings.Cut(strings.TrimSpace(line), "[")
		_, fields, ok2 := strings.Cut(rest, "(")
		if !ok || !ok2 {
			continue
		}
		c := Connection{Addr: strings.TrimPrefix(addr, "/"), Fields: make(map[string]string)}
		for field := range strings.SplitSeq(strings.TrimSuffix(fields, ")"), ",") {
			key, value, _ := strings.Cut(field, "=")
			c.Fields[key] = value
		}
		sid, ok := c.Fields["sid"]
		if !ok {
			continue // asks a four-letter word, as we do now
		}
		if c.Session, err = parseSession(sid); err != nil {
			return nil, fmt.Errorf("zktest: connections of server %d: %w", i, err)
		}
		list = append(list, c)
	}
	return list, nil
}
