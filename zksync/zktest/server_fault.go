package zktest

import (
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Request is what a client asks for, as [Server.DropReply] and
// [Server.DropRequest] show it. It is a plain value; copies share Paths.
type Request struct {
	Session int64    // who asks
	Op      string   // "create", "getData", "multi", ...
	Paths   []string // as they were sent: none of a ping, one of most, those of all operations of a multi
	Xid     int32    // the client's number of it
}

// Expire ends a session now, as if nothing had been heard from it for its
// timeout: its nodes go, its connections are closed, and when it comes back it is
// told. It reports whether there was such a session. A door that lags or is cut
// from the leader learns of it later.
func (s *Server) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[session] == nil {
		return false
	}
	s.endSession(session, nil)
	return true
}

// Disconnect closes the connections of a session through any door, or with 0 of
// all sessions, at once, held traffic or not. What was on its way is lost. The
// sessions live on, and may come back.
func (s *Server) Disconnect(session int64) {
	for _, d := range s.allDoors() {
		d.Disconnect(session)
	}
}

// Disconnect is [Server.Disconnect] through this door.
func (d *Door) Disconnect(session int64) {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	d.disconnect(session)
}

func (d *Door) disconnect(session int64) {
	for _, c := range d.list() {
		if session == 0 || c.session == session {
			c.leave()
			c.cut()
		}
	}
}

// Refuse has new connections refused, or taken again. Those by TCP are closed as
// soon as they are made. The ones that stand go on.
func (s *Server) Refuse(refuse bool) { s.each(func(d *Door) { d.refuse = refuse }) }

// Refuse is [Server.Refuse] at this door.
func (d *Door) Refuse(refuse bool) { d.do(func(d *Door) { d.refuse = refuse }) }

// Blackhole holds traffic back in the directions given, and lets it through in
// the others. Nobody is told: nothing is closed, connections are still taken, but
// while toServer is held nothing of them is known, not even that they were
// closed. What was held arrives after [Server.Heal], on connections that still
// stand.
func (s *Server) Blackhole(toServer, toClient bool) {
	s.each(func(d *Door) { d.blackhole(toServer, toClient) })
}

// Blackhole is [Server.Blackhole] at this door.
func (d *Door) Blackhole(toServer, toClient bool) {
	d.do(func(d *Door) { d.blackhole(toServer, toClient) })
}

func (d *Door) blackhole(toServer, toClient bool) {
	set := func(gate *chan struct{}, hold bool) {
		if hold && *gate == nil {
			*gate = make(chan struct{})
		} else if !hold {
			*gate = nil
		}
	}
	d.setNetwork(func(n *network) {
		set(&n.holdIn, toServer)
		set(&n.holdOut, toClient)
	})
}

// Heal ends what [Server.Refuse], [Server.Blackhole], [Server.Delay] and
// [Server.Latency] began. Frames that are being delayed keep their time.
func (s *Server) Heal() { s.each((*Door).heal) }

// Heal is [Server.Heal] of this door.
func (d *Door) Heal() { d.do((*Door).heal) }

func (d *Door) heal() {
	d.refuse = false
	d.setNetwork(func(n *network) { *n = network{} })
}

// Delay has each frame arrive d later, in both directions, from now on. Frames
// don't overtake each other. Zero or less is none.
func (s *Server) Delay(d time.Duration) { s.each(func(door *Door) { door.slow(&d, nil) }) }

// Delay is [Server.Delay] at this door.
func (d *Door) Delay(delay time.Duration) { d.do(func(d *Door) { d.slow(&delay, nil) }) }

// Latency has each frame arrive up to d later, at random (see [WithSeed]) and on
// top of [Server.Delay], in both directions, from now on. Frames don't overtake
// each other. Zero or less is none.
func (s *Server) Latency(d time.Duration) { s.each(func(door *Door) { door.slow(nil, &d) }) }

// Latency is [Server.Latency] at this door.
func (d *Door) Latency(latency time.Duration) { d.do(func(d *Door) { d.slow(nil, &latency) }) }

func (d *Door) slow(delay, latency *time.Duration) {
	d.setNetwork(func(n *network) {
		if delay != nil {
			n.delay = max(*delay, 0)
		}
		if latency != nil {
			n.latency = max(*latency, 0)
		}
	})
}

// DropReply has requests carried out whose answer is lost: the connection is
// closed instead, and nothing of what they changed is told on it. match says
// which; nil: no more. It is called once for each request but connects, one call
// at a time, also for those that come after the first that matched. It must not
// wait for anything that a client does.
func (s *Server) DropReply(match func(Request) bool) {
	s.each(func(d *Door) { d.dropReply = match })
}

// DropReply is [Server.DropReply] at this door.
func (d *Door) DropReply(match func(Request) bool) {
	d.do(func(d *Door) { d.dropReply = match })
}

// DropRequest has requests lost on their way: they are not carried out and the
// connection is closed. match is as for [Server.DropReply], and is asked first.
func (s *Server) DropRequest(match func(Request) bool) {
	s.each(func(d *Door) { d.dropReq = match })
}

// DropRequest is [Server.DropRequest] at this door.
func (d *Door) DropRequest(match func(Request) bool) {
	d.do(func(d *Door) { d.dropReq = match })
}

// LagUntilSync has doors answer reads from the state there is now, like a
// follower that gets its leader's news late: until a sync, a write or a new
// session passes through the door, which brings it to the state of that moment,
// watches included. Then it lags again. Sessions that come back and have seen
// more are turned away without an answer. An end of a session is news too:
// connections of a session that is over stand until then. Without lag the door
// is brought up to date.
func (s *Server) LagUntilSync(lag bool) { s.each(func(d *Door) { d.lagBehind(lag) }) }

// LagUntilSync is [Server.LagUntilSync] for this door.
func (d *Door) LagUntilSync(lag bool) { d.do(func(d *Door) { d.lagBehind(lag) }) }

func (d *Door) lagBehind(lag bool) {
	d.lags = lag
	d.part()
}

// CutFromLeader cuts doors off from the rest of the ensemble, or ends that. A
// door that is cut off answers pings and reads, from the state there was. It
// keeps no session alive: they end after their timeout, and it does not know.
// Writes, syncs and connects wait, with what their connection sends after them,
// until the cut ends; then they are carried out if the connection still stands.
// All doors cut off are an ensemble without a quorum, whose leader goes on
// counting the time of its sessions.
func (s *Server) CutFromLeader(cut bool) { s.each(func(d *Door) { d.cutOff(cut) }) }

// CutFromLeader is [Server.CutFromLeader] for this door.
func (d *Door) CutFromLeader(cut bool) { d.do(func(d *Door) { d.cutOff(cut) }) }

func (d *Door) cutOff(cut bool) {
	switch {
	case cut && d.uncut == nil:
		d.uncut = make(chan struct{})
	case !cut && d.uncut != nil:
		close(d.uncut)
		d.uncut = nil
	}
	d.part()
}

// SetSequence makes n the number of the next sequential node below path. The
// node's Cversion, which counts the same, follows. The error is that there is no
// such node.
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

// Restart closes all connections, as when the servers are restarted, and starts
// the count of transactions anew in the next epoch, as a new leader does. With
// keepSessions all sessions have their whole timeout to come back; otherwise the
// servers were away for longer than that, and all are over. The tree stays.
func (s *Server) Restart(keepSessions bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.doors {
		d.disconnect(0)
		d.lags = false
		d.cutOff(false)
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

func (s *Server) each(f func(*Door)) {
	for _, d := range s.allDoors() {
		d.do(f)
	}
}

func (d *Door) do(f func(*Door)) {
	d.srv.mu.Lock()
	defer d.srv.mu.Unlock()
	f(d)
}

// hooks counts a request, and asks the test what is to become of it: that it is
// lost, or that its answer is.
func (c *conn) hooks(r *request) (drop, mute bool) {
	s := c.srv
	s.mu.Lock()
	s.count(c.session, r.Op)
	dropReq, dropReply := c.door.dropReq, c.door.dropReply
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
