package javazk

import (
	"errors"
	"fmt"
	"strconv"
)

// Metrics returns what server i answers to "mntr". The error of a server without
// a quorum wraps [ErrNotServing].
func (e *Ensemble) Metrics(i int) (map[string]string, error) {
	answer, err := e.FourLetter(i, "mntr")
	if err != nil {
		return nil, err
	}
	m, err := parseMetrics(answer)
	switch {
	case errors.Is(err, ErrNotServing):
		return nil, fmt.Errorf("%w: server %d", err, i)
	case err != nil:
		return nil, fmt.Errorf("ensemble: metrics of server %d: %w", i, err)
	}
	return m, nil
}

// Watches asks server i for the watches it keeps. The parts are asked for one
// after the other: while watches come and go they may disagree.
func (e *Ensemble) Watches(i int) (Watches, error) {
	total, err := e.watchCount(i)
	if err != nil {
		return Watches{}, err
	}
	answer, err := e.FourLetter(i, "wchp")
	if err != nil {
		return Watches{}, err
	}
	w, err := parseWatches(answer)
	if err != nil {
		return Watches{}, fmt.Errorf("ensemble: watches of server %d: %w", i, err)
	}
	w.Total = total
	return w, nil
}

// watchCount asks a server for the number of its watches of both kinds.
func (e *Ensemble) watchCount(i int) (int, error) {
	m, err := e.Metrics(i)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(m["zk_watch_count"])
	if err != nil {
		return 0, fmt.Errorf("ensemble: watches of server %d: %w", i, err)
	}
	return n, nil
}

// WatchCount returns the number of watches of both kinds on all servers that run
// and are not paused. A server without a quorum has none.
func (e *Ensemble) WatchCount() (int, error) {
	total := 0
	for i, s := range e.servers {
		if st := e.state(s); !st.running || st.paused {
			continue
		}
		n, err := e.watchCount(i)
		if err != nil && !errors.Is(err, ErrNotServing) {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Connections returns the connections that have a session on server i.
func (e *Ensemble) Connections(i int) ([]Connection, error) {
	answer, err := e.FourLetter(i, "cons")
	if err != nil {
		return nil, err
	}
	list, err := parseConnections(answer)
	if err != nil {
		return nil, fmt.Errorf("ensemble: connections of server %d: %w", i, err)
	}
	return list, nil
}
