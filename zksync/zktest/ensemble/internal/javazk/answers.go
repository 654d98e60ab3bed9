package javazk

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrNotServing is wrapped by the errors of [Ensemble.Metrics] and what builds on
// it when the server has no quorum.
var ErrNotServing = errors.New("ensemble: server does not serve")

const notServing = "This ZooKeeper instance is not currently serving requests"

// status is what a server says of itself in "srvr".
type status struct {
	mode  string // "leader", "follower", or "" when it does not serve
	epoch uint64 // of its leader: the upper half of the zxid
}

// parseStatus reads the answer to "srvr".
func parseStatus(answer string) status {
	var st status
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Mode":
			st.mode = value
		case "Zxid":
			zxid, _ := strconv.ParseUint(value, 0, 64)
			st.epoch = zxid >> 32
		}
	}
	return st
}

// parseMetrics reads the answer to "mntr".
func parseMetrics(answer string) (map[string]string, error) {
	if strings.HasPrefix(answer, notServing) {
		return nil, ErrNotServing
	}
	m := make(map[string]string)
	for line := range strings.Lines(answer) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			m[key] = value
		}
	}
	if len(m) == 0 {
		return nil, fmt.Errorf("%q", strings.TrimSpace(answer))
	}
	return m, nil
}

// Watches is what a server keeps for its clients. The zero value is no watches.
// Copies share the maps, which several goroutines may read.
type Watches struct {
	Total     int // of both kinds
	Data      int // those on a node's data and existence
	ByPath    map[string][]int64
	BySession map[int64][]string
}

// parseWatches reads the answer to "wchp". The total is left to the caller.
func parseWatches(answer string) (Watches, error) {
	w := Watches{ByPath: make(map[string][]int64), BySession: make(map[int64][]string)}
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
			return Watches{}, err
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

// Connection is one client's connection as the server sees it. The zero value is
// none. Copies share Fields, which several goroutines may read.
type Connection struct {
	Addr    string
	Session int64
	Fields  map[string]string
}

// parseConnections reads the answer to "cons", and leaves out connections without
// a session: those that ask four-letter words.
func parseConnections(answer string) ([]Connection, error) {
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
			continue
		}
		var err error
		if c.Session, err = parseSession(sid); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// parseSession reads a session id as ZooKeeper prints it: "0x" and the hex digits
// of an unsigned number.
func parseSession(text string) (int64, error) {
	id, err := strconv.ParseUint(text, 0, 64)
	return int64(id), err
}

// inDump reports whether the answer to "dump" names the session, as one that
// lives or as the owner of a node. What follows about connections doesn't count:
// they end a moment later.
func inDump(dump string, id int64) (bool, error) {
	sessions, _, _ := strings.Cut(dump, "Connections dump")
	if !strings.Contains(strings.ToLower(sessions), "ephemeral") {
		return false, fmt.Errorf("answer to dump: %q", strings.TrimSpace(dump))
	}
	return regexp.MatchString(fmt.Sprintf(`(?m)^\s*%#x:?\s*$`, uint64(id)), sessions)
}
