package zktest

import (
	"bytes"
	"fmt"
)

// wordMntr answers mntr: the metrics that mean something here, in the order in which
// ZooKeeper gives them.
func (c *conn) wordMntr(b *bytes.Buffer) {
	m, s := c.member, c.srv
	received, outstanding := m.traffic(c)
	put := func(name string, value any) { fmt.Fprintf(b, "zk_%s\t%v\n", name, value) }
	ephemerals := 0
	for _, id := range m.view.Owners() {
		ephemerals += len(m.view.Ephemerals(id))
	}
	watches := 0
	for _, table := range []watchTable{m.data, m.child} {
		for _, by := range table {
			watches += len(by)
		}
	}
	uptime := (s.since() - m.counts.since).Milliseconds()
	l := &m.counts.latency

	put("version", wordVersion)
	put("server_state", m.mode())
	switch m.mode() {
	case "leader":
		put("peer_state", "leading - broadcast")
	case "follower":
		put("peer_state", "following - broadcast")
	}
	put("ephemerals_count", ephemerals)
	put("num_alive_connections", len(m.conns))
	put("avg_latency", javaDouble(l.average()))
	put("outstanding_requests", outstanding)
	put("znode_count", m.nodeCount())
	put("global_sessions", len(s.sessions))
	put("packets_sent", m.counts.sent)
	put("packets_received", received)
	if m.mode() == "leader" {
		put("synced_followers", m.followers())
	}
	put("connection_drop_probability", "0.0")
	put("watch_count", watches)
	put("min_latency", l.min)
	put("approximate_data_size", m.view.Size())
	if m.mode() == "leader" {
		put("leader_uptime", uptime)
	}
	put("local_sessions", 0)
	put("uptime", uptime)
	put("max_latency", l.max)
	if m.mode() == "leader" {
		put("learners", m.followers())
		put("quorum_size", len(s.members))
	}
}

// followers returns how many members a leader that is not cut off from the others hears
// from.
func (m *Member) followers() int {
	n := 0
	for _, x := range m.srv.members {
		n += btoi(x != m && x.uncut == nil && m.uncut == nil)
	}
	return n
}
