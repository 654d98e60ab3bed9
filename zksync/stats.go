package zksync

import "sync/atomic"

// Stats has counters since the session was made, and gauges of this moment, like
// sql.DBStats. It is a plain value.
type Stats struct {
	Held           int // locks held, gauge
	Waiting        int // calls that wait for a lock, gauge
	CleanupPending int // nodes whose deletion is not confirmed yet, gauge

	Acquired    int64 // locks granted, hand-overs included
	Handoffs    int64 // of these, passed on within the session without the network
	Losses      int64 // locks lost
	Requests    int64 // requests to ZooKeeper, probes of open holds included
	Connects    int64 // connections that came to a session
	Disconnects int64 // connections lost
}

type counters struct {
	connects, disconnects atomic.Int64
}

// Stats returns the session's counters and gauges.
func (s *Session) Stats() Stats {
	s.check()
	c, t := &s.stats, s.table
	return Stats{
		Held:           int(t.Held.Load()),
		Waiting:        int(t.Waiting.Load()),
		CleanupPending: int(t.PendingNodes()),
		Acquired:       t.Acquired.Load(),
		Handoffs:       t.Handoffs.Load(),
		Losses:         t.Losses.Load(),
		Requests:       s.conn.Requests(),
		Connects:       c.connects.Load(),
		Disconnects:    c.disconnects.Load(),
	}
}
