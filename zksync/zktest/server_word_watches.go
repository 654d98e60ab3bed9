package zktest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The words on watches show those on nodes' data and existence, and no other, as
// ZooKeeper's do. A connection that has left such a watch once is listed until it ends,
// whether it still has one or not.

// wordWchs answers wchs: how many watches there are.
func (c *conn) wordWchs(b *bytes.Buffer) {
	conns, total := 0, 0
	for x := range c.member.conns {
		conns += btoi(x.watcher)
	}
	for _, by := range c.member.data {
		total += len(by)
	}
	fmt.Fprintf(b, "%d connections watching %d paths\nTotal watches:%d\n", conns, len(c.member.data), total)
}

// wordWchc answers wchc: the paths by the sessions that watch them.
func (c *conn) wordWchc(b *bytes.Buffer) {
	data := c.member.data
	for _, x := range c.member.list() {
		if !x.watcher {
			continue
		}
		fmt.Fprintf(b, "%#x\n", x.session)
		for _, p := range slices.Sorted(maps.Keys(x.watched)) {
			if data[p][x] != 0 {
				fmt.Fprintf(b, "\t%s\n", p)
			}
		}
	}
	b.WriteByte('\n')
}

// wordWchp answers wchp: the sessions by the paths that they watch.
func (c *conn) wordWchp(b *bytes.Buffer) {
	data := c.member.data
	for _, p := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(b, "%s\n", p)
		for _, x := range slices.SortedFunc(maps.Keys(data[p]), byNumber) {
			fmt.Fprintf(b, "\t%#x\n", x.session)
		}
	}
	b.WriteByte('\n')
}

// wordDump answers dump: sessions, ephemeral nodes and connections. Only the leader knows
// when sessions end.
func (c *conn) wordDump(b *bytes.Buffer) {
	m, s := c.member, c.srv
	b.WriteString("SessionTracker dump:\n")
	if m.mode() == "follower" {
		fmt.Fprintf(b, "Global Sessions(%d):\n", len(s.sessions))
		for _, id := range s.sessionIDs() {
			fmt.Fprintf(b, "%#x\t%dms\n", id, s.sessions[id].timeout.Milliseconds())
		}
	} else {
		ends := make(map[time.Duration][]string)
		for _, id := range s.sessionIDs() {
			at := s.sessions[id].expires
			ends[at] = append(ends[at], fmt.Sprintf("%#x", id))
		}
		c.dumpEnds(b, "Session", ends)
	}
	owners := m.view.Owners()
	fmt.Fprintf(b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owners))
	for _, id := range owners {
		fmt.Fprintf(b, "%#x:\n", id)
		for _, p := range m.view.Ephemerals(id) {
			fmt.Fprintf(b, "\t%s\n", p)
		}
	}
	b.WriteString("Connections dump:\n")
	ends := make(map[time.Duration][]string)
	for _, x := range m.list() {
		at := x.idleEnd()
		ends[at] = append(ends[at], fmt.Sprintf("ip: %s sessionId: %#x", x.address(), x.session))
	}
	c.dumpEnds(b, "Connections", ends)
}

// idleEnd returns when ZooKeeper would close the connection if nothing came from it any
// more, as a time since the server's start: at a whole ten seconds after the session's
// timeout, or after ten seconds without a session. This server leaves it open until the
// session ends.
func (c *conn) idleEnd() time.Duration {
	const interval = 10 * time.Second
	at := c.counts.since.Sub(c.srv.start) + interval
	if ss := c.srv.sessions[c.session]; ss != nil {
		at = ss.expires
	}
	return at.Truncate(interval) + interval
}

// dumpEnds writes what ends when, the first one first.
func (c *conn) dumpEnds(b *bytes.Buffer, what string, ends map[time.Duration][]string) {
	n := 0
	for _, list := range ends {
		n += len(list)
	}
	fmt.Fprintf(b, "%s Sets (%d)/(%d):\n", what, len(ends), n)
	for _, at := range slices.Sorted(maps.Keys(ends)) {
		fmt.Fprintf(b, "%d expire at %s:\n", len(ends[at]), c.srv.start.Add(at).Format(time.UnixDate))
		for _, what := range ends[at] {
			fmt.Fprintf(b, "\t%s\n", what)
		}
	}
}
