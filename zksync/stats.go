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
	held, waiting, cleanup                            atomic.Int64
	acquired, handoffs, losses, connects, disconnects atomic.Int64
}

// Stats returns the session's counters and gauges.
func (s *Session) Stats() Stats {
	c := &s.stats
	return Stats{
		Held:           int(c.held.Load()),
		Waiting:        int(c.waiting.Load()),
		CleanupPending: int(c.cleanup.Load()),
		Acquired:       c.acquired.Load(),
		Handoffs:       c.handoffs.Load(),
		Losses:         c.losses.Load(),
		Requests:       s.conn.Requests(),
		Connects:       c.connects.Load(),
		Disconnects:    c.disconnects.Load(),
	}
}

// cleanup tells the tracer of a node whose deletion is not settled yet, which
// was counted before (0), and counts and tells when it is (-1). The deletion does
// not wait for the tracer, who may wait for it in Close or Shutdown.
func (s *Session) cleanup(d int64) {
	s.stats.cleanup.Add(d)
	switch {
	case s.cfg.tracer.Cleanup == nil:
	case d == 0:
		s.events.push(s.more)
	default:
		s.events.push(s.less)
	}
}
