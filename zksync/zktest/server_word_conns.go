package zktest

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// wordStat answers srvr, and stat with the connections.
func (c *conn) wordStat(b *bytes.Buffer, clients bool) {
	m := c.member
	fmt.Fprintf(b, "Zookeeper version: %s\n", wordVersion)
	if clients {
		b.WriteString("Clients:\n")
		for _, x := range m.list() {
			x.describe(b, c, true)
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	l := &m.counts.latency
	fmt.Fprintf(b, "Latency min/avg/max: %d/%s/%d\n", l.min, javaDouble(l.average()), l.max)
	received, outstanding := m.traffic(c)
	fmt.Fprintf(b, "Received: %d\nSent: %d\nConnections: %d\n", received, m.counts.sent, len(m.conns))
	fmt.Fprintf(b, "Outstanding: %d\nZxid: %#x\nMode: %s\nNode count: %d\n", outstanding, m.view.Zxid(), m.mode(), m.nodeCount())
	if m.mode() == "leader" {
		b.WriteString("Proposal sizes last/min/max: -1/-1/-1\n") // as of a leader that has proposed nothing
	}
}

// wordCons answers cons: all connections, with what was asked last.
func (c *conn) wordCons(b *bytes.Buffer) {
	for _, x := range c.member.list() {
		x.describe(b, c, false)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// wordSrst answers srst: the member's counts start anew.
func (c *conn) wordSrst(b *bytes.Buffer) {
	c.member.resetCounts()
	b.WriteString("Server stats reset.\n")
}

// wordCrst answers crst: the connections' counts start anew.
func (c *conn) wordCrst(b *bytes.Buffer) {
	for _, x := range c.member.list() {
		x.resetCounts()
	}
	b.WriteString("Connection stats reset.\n")
}

// mode returns the member's part in the ensemble.
func (m *Member) mode() string {
	switch {
	case len(m.srv.members) == 1:
		return "standalone"
	case m == m.srv.leader:
		return "leader"
	}
	return "follower"
}

// nodeCount counts the root twice, as ZooKeeper does.
func (m *Member) nodeCount() int { return m.view.Len() + 1 }

// traffic returns how many frames the member has received, and how many of them wait for
// their answers. The connection that asks does not wait for its own.
func (m *Member) traffic(asks *conn) (received, outstanding int64) {
	received = m.counts.received.Load()
	for c := range m.conns {
		if c != asks {
			carriedOut, waiting := c.behind()
			received, outstanding = received+waiting, outstanding+carriedOut+waiting
		}
	}
	return received, outstanding
}

// describe writes the line of a connection, without its end.
func (c *conn) describe(b *bytes.Buffer, asks *conn, brief bool) {
	n := &c.counts
	reads := 1 // the connection that asks is not read any more
	var carriedOut, waiting int64
	if c == asks {
		reads = 0
	} else {
		carriedOut, waiting = c.behind()
	}
	fmt.Fprintf(b, " %s[%d](queued=%d,recved=%d,sent=%d", c.address(), reads, carriedOut+waiting, n.received.Load()+waiting, n.sent)
	if !brief && c.session != 0 {
		fmt.Fprintf(b, ",sid=%#x,lop=%s,est=%d,to=%d", c.session, cmp.Or(n.op, "null"), n.since.UnixMilli(), c.sessionTimeout().Milliseconds())
		if n.xid >= 0 {
			fmt.Fprintf(b, ",lcxid=%#x", n.xid)
		}
		shortest := n.latency.min
		if !n.reset {
			shortest = 0
		}
		fmt.Fprintf(b, ",lzxid=%#x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", uint64(n.zxid), n.at.Milliseconds(),
			n.took.Milliseconds(), shortest, n.latency.total/max(n.latency.count, 1), n.latency.max)
	}
	b.WriteByte(')')
}

// address returns the client's address in ZooKeeper's form. A client in this process has
// no port.
func (c *conn) address() string {
	if a, ok := c.nc.RemoteAddr().(*net.TCPAddr); ok {
		return "/" + a.String()
	}
	return "/127.0.0.1:0"
}

// sessionTimeout returns the timeout that the connection's session got, 0 when it is over.
func (c *conn) sessionTimeout() time.Duration {
	if ss := c.srv.sessions[c.session]; ss != nil {
		return ss.timeout
	}
	return 0
}

// javaDouble writes a number as Java does, with a decimal point always.
func javaDouble(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
