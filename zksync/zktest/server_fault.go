package zktest

import (
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Request is a request of a client, as [Server.DropReply] and
// [Server.DropRequest] show it. It is a plain value; copies share Paths.
type Request struct {
	Session int64    // of the client
	Op      string   // "create", "getData", "multi", ...
	Paths   []string // as they were sent: none of a ping, one of most, those of all operations of a multi
	Xid     int32    // the client's number of it
}

// Expire ends a session now, as if the server had heard nothing from it for its
// timeout. The session's nodes are deleted and its connections closed, and its
// client learns of the end when it connects again. Expire reports whether there was
// such a session. A member that lags or is cut from the leader learns of it later.
func (s *Server) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session] == nil {
		return false
	}
	s.endSession(session, nil)
	return true
}

// Disconnect closes the connections of a session through any member at once, even
// while traffic is held. With 0 it closes those of all sessions. Data on its way is
// lost. The sessions live on, and may come back.
func (s *Server) Disconnect(session int64) {
	for _, m := range s.allMembers() {
		m.Disconnect(session)
	}
}

// Disconnect is [Server.Disconnect] through this member.
func (m *Member) Disconnect(session int64) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.disconnect(session)
}

func (m *Member) disconnect(session int64) {
	for _, c := range m.list() {
		if session == 0 || c.session == session {
			c.leave()
			c.cut()
		}
	}
}

// Refuse makes the server refuse new connections, or accept them again. It closes
// new TCP connections as soon as they are made. Existing connections go on.
func (s *Server) Refuse(refuse bool) { s.each(func(m *Member) { m.refuse = refuse }) }

// Refuse is [Server.Refuse] at this member.
func (m *Member) Refuse(refuse bool) { m.do(func(m *Member) { m.refuse = refuse }) }

// Blackhole holds traffic back in the given directions, and lets it through in the
// others. No side gets a sign: nothing is closed, and connections are still
// accepted. While toServer is held, the server learns nothing of connections, not
// even that they were closed. Held traffic arrives after [Server.Heal], on
// connections that still exist.
func (s *Server) Blackhole(toServer, toClient bool) {
	s.each(func(m *Member) { m.blackhole(toServer, toClient) })
}

// Blackhole is [Server.Blackhole] at this member.
func (m *Member) Blackhole(toServer, toClient bool) {
	m.do(func(m *Member) { m.blackhole(toServer, toClient) })
}

func (m *Member) blackhole(toServer, toClient bool) {
	set := func(gate *chan struct{}, hold bool) {
		if hold && *gate == nil {
			*gate = make(chan struct{})
		} else if !hold {
			*gate = nil
		}
	}
	m.setNetwork(func(n *network) {
		set(&n.holdIn, toServer)
		set(&n.holdOut, toClient)
	})
}

// Heal ends the faults of [Server.Refuse], [Server.Blackhole], [Server.Delay] and
// [Server.Latency]. Frames that are already delayed arrive at their time.
func (s *Server) Heal() { s.each((*Member).heal) }

// Heal is [Server.Heal] of this member.
func (m *Member) Heal() { m.do((*Member).heal) }

func (m *Member) heal() {
	m.refuse = false
	m.setNetwork(func(n *network) { *n = network{} })
}

// Delay makes each frame arrive d later, in both directions, from now on. Frames
// don't overtake each other. Zero or less means no delay.
func (s *Server) Delay(d time.Duration) { s.each(func(member *Member) { member.slow(&d, nil) }) }

// Delay is [Server.Delay] at this member.
func (m *Member) Delay(delay time.Duration) { m.do(func(m *Member) { m.slow(&delay, nil) }) }

// Latency makes each frame arrive up to d later, in both directions, from now on.
// The latency is random (see [WithSeed]) and adds to [Server.Delay]. Frames don't
// overtake each other. Zero or less means no latency.
func (s *Server) Latency(d time.Duration) { s.each(func(member *Member) { member.slow(nil, &d) }) }

// Latency is [Server.Latency] at this member.
func (m *Member) Latency(latency time.Duration) { m.do(func(m *Member) { m.slow(nil, &latency) }) }

func (m *Member) slow(delay, latency *time.Duration) {
	m.setNetwork(func(n *network) {
		if delay != nil {
			n.delay = max(*delay, 0)
		}
		if latency != nil {
			n.latency = max(*latency, 0)
		}
	})
}

// DropReply makes the server carry out requests and lose their answers: it closes
// the connection instead, and sends no event of the change on it. match chooses the
// requests; nil ends this. The server calls match once for each request but
// connects, one call at a time, and goes on after the first match. match must not
// wait for anything that a client does.
func (s *Server) DropReply(match func(Request) bool) {
	s.each(func(m *Member) { m.dropReply = match })
}

// DropReply is [Server.DropReply] at this member.
func (m *Member) DropReply(match func(Request) bool) {
	m.do(func(m *Member) { m.dropReply = match })
}

// DropRequest makes the server lose requests: it does not carry them out, and
// closes the connection. match works as for [Server.DropReply], and is called
// before that one.
func (s *Server) DropRequest(match func(Request) bool) {
	s.each(func(m *Member) { m.dropReq = match })
}

// DropRequest is [Server.DropRequest] at this member.
func (m *Member) DropRequest(match func(Request) bool) {
	m.do(func(m *Member) { m.dropReq = match })
}

// LagUntilSync makes members answer reads from the state of now, like a follower that
// hears from its leader late. A sync, a write or a new session through the member
// brings it to the state of that moment, watches included; then it lags again. It
// turns a session that comes back and has seen more away without an answer. It
// also learns late that a session is over, and keeps its connections until then.
// LagUntilSync(false) brings the member up to date.
func (s *Server) LagUntilSync(lag bool) { s.each(func(m *Member) { m.lagBehind(lag) }) }

// LagUntilSync is [Server.LagUntilSync] for this member.
func (m *Member) LagUntilSync(lag bool) { m.do(func(m *Member) { m.lagBehind(lag) }) }

func (m *Member) lagBehind(lag bool) {
	m.lags = lag
	m.part()
}

// CutFromLeader cuts members off from the rest of the ensemble, or ends the cut. A
// member that is cut off answers pings and reads from the state at the cut. It keeps
// no session alive: sessions end after their timeout, and the member does not know.
// Writes, syncs and connects wait until the cut ends, and so does whatever their
// connection sends after them; then they are carried out if the connection still
// exists. If all members are cut off, the ensemble has no quorum, but its leader goes
// on counting the time of its sessions.
func (s *Server) CutFromLeader(cut bool) { s.each(func(m *Member) { m.cutOff(cut) }) }

// CutFromLeader is [Server.CutFromLeader] for this member.
func (m *Member) CutFromLeader(cut bool) { m.do(func(m *Member) { m.cutOff(cut) }) }

func (m *Member) cutOff(cut bool) {
	switch {
	case cut && m.uncut == nil:
		m.uncut = make(chan struct{})
	case !cut && m.uncut != nil:
		close(m.uncut)
		m.uncut = nil
	}
	m.part()
}

// SetSequence makes n the number of the next sequential node below path. It changes
// the node's Cversion with it, because ZooKeeper derives both from one count. It
// returns an error if there is no such node.
func (s *Server) SetSequence(path string, n int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.tree.SetSequence(path, n)
	if x == nil {
		return fmt.Errorf("zktest: no node %s", path)
	}
	s.commit(x, nil)
	return nil
}

// Restart acts as if the servers were restarted: it closes all connections, and
// starts the count of transactions anew in the next epoch, as a new leader does.
// With keepSessions each session has its whole timeout to come back. Without it
// the servers were away for longer than that, and all sessions end. The tree stays.
func (s *Server) Restart(keepSessions bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		m.disconnect(0)
		m.lags = false
		m.cutOff(false)
	}
	s.tree.NewEpoch()
	for _, id := range s.sessionIDs() {
		if keepSessions {
			s.touch(s.sessions[id])
		} else {
			s.endSession(id, nil)
		}
	}
}

func (s *Server) each(f func(*Member)) {
	for _, m := range s.allMembers() {
		m.do(f)
	}
}

func (m *Member) do(f func(*Member)) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	f(m)
}

// hooks counts a request, and asks the test whether the request is lost (drop) or
// its answer (mute).
func (c *conn) hooks(r *request) (drop, mute bool) {
	s := c.srv
	s.mu.Lock()
	s.count(c.session, r.Op)
	dropReq, dropReply := c.member.dropReq, c.member.dropReply
	req := Request{Session: c.session, Op: r.Op.String(), Xid: r.xid}
	s.mu.Unlock()
	if dropReq == nil && dropReply == nil {
		return false, false
	}
	switch {
	case r.Op == wire.OpMulti:
		for i := range r.ops {
			req.Paths = append(req.Paths, r.ops[i].Path)
		}
	case r.Path != "":
		req.Paths = []string{r.Path}
	}
	s.hookMu.Lock()
	defer s.hookMu.Unlock()
	if dropReq != nil && dropReq(req) {
		return true, false
	}
	return false, dropReply != nil && dropReply(req)
}
