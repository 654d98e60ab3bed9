package zktest

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// counts is what four-letter words tell of a member's traffic. Guarded by srv.mu but for
// received.
type counts struct {
	since    time.Duration // when the member came up, since the server's start
	received atomic.Int64  // frames, and four-letter words
	sent     int64         // the same
	latency  latencies
}

// connCounts is what four-letter words tell of a connection. Guarded by srv.mu but for
// received and busy.
type connCounts struct {
	since    time.Time    // when it was accepted
	received atomic.Int64 // frames
	sent     int64        // the same
	busy     atomic.Int64 // when the frame came that is carried out, since the server's start; 0: none is

	// Of the last answer.
	op   string
	xid  int32 // no other than a request's own; -1: none
	zxid int64
	at   time.Duration // since the server's start
	took time.Duration

	latency latencies
	reset   bool // by crst; until then the shortest latency is 0, whatever was measured
}

// latencies are times between requests and their answers, in milliseconds.
type latencies struct{ count, total, min, max int64 }

func (l *latencies) add(ms int64) {
	if l.count == 0 {
		l.min = ms
	}
	l.min, l.max = min(l.min, ms), max(l.max, ms)
	l.count++
	l.total += ms
}

// average returns the mean with four decimals.
func (l *latencies) average() float64 {
	return math.Round(float64(l.total)/float64(max(l.count, 1))*1e4) / 1e4
}

// begins counts a frame that has arrived, and is carried out until rests.
func (c *conn) begins(f inFrame) {
	c.counts.received.Add(1)
	c.member.counts.received.Add(1)
	since := f.read
	if since == 0 {
		since = max(c.srv.since(), 1)
	}
	c.counts.busy.Store(int64(since))
}

// rests tells that no frame is carried out.
func (c *conn) rests() { c.counts.busy.Store(0) }

// behind returns how many frames the connection has read that have no answer yet, the
// one that is carried out included. Frames that a fault still holds back are not among
// them.
func (c *conn) behind() (carriedOut, waiting int64) {
	if c.counts.busy.Load() == 0 {
		return 0, 0
	}
	return 1, int64(c.in.waiting())
}

// answered notes the answer to the frame that is carried out. An auth and a sasl are no requests for
// these counts, nor is what brings a session back. The caller holds srv.mu.
func (c *conn) answered(op string, xid int32) {
	n := &c.counts
	if xid >= 0 {
		n.xid = xid
	}
	n.op, n.zxid, n.at = op, c.member.view.Zxid(), c.srv.since()
	n.took = n.at - time.Duration(n.busy.Load())
	n.latency.add(n.took.Milliseconds())
	c.member.counts.latency.add(n.took.Milliseconds())
}

// lastOp returns ZooKeeper's short name of a request in the list of connections: "NA" for
// a transaction that failed.
func lastOp(op wire.Op, code wire.Code) string {
	if code != wire.CodeOK && isWrite(op) && op != wire.OpMulti {
		return "NA"
	}
	if name, ok := lastOps[op]; ok {
		return name
	}
	return "NA"
}

var lastOps = map[wire.Op]string{
	wire.OpPing: "PING", wire.OpMulti: "MULT", wire.OpMultiRead: "MLTR",
	wire.OpCreate: "CREA", wire.OpCreate2: "CREA", wire.OpCreateTTL: "CREA", wire.OpCreateContainer: "CREA",
	wire.OpDelete: "DELE", wire.OpDeleteContainer: "DELE", wire.OpSetData: "SETD", wire.OpReconfig: "RECO",
	wire.OpSetACL: "SETA", wire.OpCloseSession: "CLOS", wire.OpSync: "SYNC", wire.OpCheck: "CHEC",
	wire.OpExists: "EXIS", wire.OpGetData: "GETD", wire.OpSetWatches: "SETW", wire.OpSetWatches2: "STW2",
	wire.OpAddWatch: "ADDW", wire.OpGetACL: "GETA", wire.OpGetChildren: "GETC", wire.OpGetChildren2: "GETC",
	wire.OpGetAllChildrenNumber: "GETACN", wire.OpCheckWatches: "CHKW", wire.OpRemoveWatches: "REMW",
	wire.OpWhoAmI: "HOMI", wire.OpGetEphemerals: "GETE", wire.OpCreateSession: "SESS",
}

// resetCounts starts a member's counts anew. The caller holds srv.mu.
func (m *Member) resetCounts() {
	m.counts.received.Store(0)
	m.counts.sent, m.counts.latency = 0, latencies{}
}

// newCounts makes the member's counts those of a server that has just come up. The caller
// holds srv.mu.
func (m *Member) newCounts() {
	m.resetCounts()
	m.counts.since = m.srv.since()
}

// resetCounts starts a connection's counts anew. The caller holds srv.mu.
func (c *conn) resetCounts() {
	n := &c.counts
	n.received.Store(0)
	n.sent, n.latency, n.reset = 0, latencies{}, true
	n.op, n.xid, n.zxid, n.at, n.took = "NA", -1, -1, 0, 0
}
