package zktest

import (
	"slices"
	"time"
)

// Faults makes the faults of servers, and of the network between them and their
// clients. Those of a [Server] act on all members that it has at the time of the call;
// those of a [Member] act on that member alone. These faults last until they are
// ended:
//
//   - Refuse, until Accept or Heal
//   - Blackhole, Delay and Jitter, until Heal
//   - LagUntilSync, until CatchUp
//   - CutFromLeader, until RejoinLeader
//   - DropReply and DropRequest, until they are called with nil
//
// The zero value is not usable: it comes with a Server or a Member, and its methods
// are theirs. It must not be copied. Its methods may be called from several
// goroutines.
type Faults struct {
	srv *Server
	of  *Member // nil: of all members
}

// Direction is a way of traffic between clients and a server: [ToServer] or
// [ToClient]. Any other value, zero included, is no direction.
type Direction int

// The directions.
const (
	ToServer Direction = iota + 1 // from clients to the server: requests
	ToClient                      // from the server to clients: answers and events
)

// each changes the members that the faults act on.
func (f *Faults) each(change func(*Member)) {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	if f.of != nil {
		change(f.of)
		return
	}
	for _, m := range f.srv.members {
		change(m)
	}
}

// Disconnect closes the connections of a session at once, even while traffic is held.
// Data on its way is lost. The session lives on, and may come back. The id 0 names no
// session.
func (f *Faults) Disconnect(session int64) {
	f.each(func(m *Member) {
		for _, c := range m.list() {
			if session != 0 && c.session == session {
				c.disconnect()
			}
		}
	})
}

// DisconnectAll closes all connections, as [Faults.Disconnect] does. New connections
// are accepted.
func (f *Faults) DisconnectAll() { f.each((*Member).disconnectAll) }

func (m *Member) disconnectAll() {
	for _, c := range m.list() {
		c.disconnect()
	}
}

// Refuse makes servers refuse new connections. They close new TCP connections as soon
// as they are made. Existing connections go on. [Faults.Accept] and [Faults.Heal] end
// it.
func (f *Faults) Refuse() { f.each(func(m *Member) { m.refuse = true }) }

// Accept makes servers accept new connections again, after [Faults.Refuse].
func (f *Faults) Accept() { f.each(func(m *Member) { m.refuse = false }) }

// Blackhole holds traffic back in the given directions, and lets it through in the
// others. Without an argument it holds both. No side gets a sign: nothing is closed,
// and connections are still accepted. While [ToServer] is held, the server learns
// nothing of connections, not even that they were closed. Held traffic arrives after
// [Faults.Heal], on connections that still exist.
func (f *Faults) Blackhole(directions ...Direction) {
	set := func(gate *chan struct{}, d Direction) {
		switch hold := len(directions) == 0 || slices.Contains(directions, d); {
		case hold && *gate == nil:
			*gate = make(chan struct{})
		case !hold:
			*gate = nil
		}
	}
	f.each(func(m *Member) {
		m.setNetwork(func(n *network) {
			set(&n.holdIn, ToServer)
			set(&n.holdOut, ToClient)
		})
	})
}

// Delay makes each frame arrive d later, in both directions, from now on. Frames
// don't overtake each other. Zero or less means no delay.
func (f *Faults) Delay(d time.Duration) {
	f.each(func(m *Member) { m.setNetwork(func(n *network) { n.delay = max(d, 0) }) })
}

// Jitter makes each frame arrive up to d later, in both directions, from now on. The
// time is random (see [WithSeed]) and adds to [Faults.Delay]. Frames don't overtake
// each other. Zero or less means no jitter.
func (f *Faults) Jitter(d time.Duration) {
	f.each(func(m *Member) { m.setNetwork(func(n *network) { n.jitter = max(d, 0) }) })
}

// Heal ends the faults of the network: those of [Faults.Refuse], [Faults.Blackhole],
// [Faults.Delay] and [Faults.Jitter]. Frames that are already delayed arrive at their
// time.
func (f *Faults) Heal() {
	f.each(func(m *Member) {
		m.refuse = false
		m.setNetwork(func(n *network) { *n = network{} })
	})
}

// DropReply makes servers carry out requests and lose their answers: they close the
// connection instead, and send no event of the change on it. match chooses the
// requests; nil ends this. The server calls match once for each request but connects,
// one call at a time, and goes on after the first match. match must not wait for
// anything that a client does.
func (f *Faults) DropReply(match func(Request) bool) {
	f.each(func(m *Member) { m.dropReply = match })
}

// DropRequest makes servers lose requests: they do not carry them out, and close the
// connection. match works as for [Faults.DropReply], and is called before that one.
func (f *Faults) DropRequest(match func(Request) bool) {
	f.each(func(m *Member) { m.dropReq = match })
}

// LagUntilSync makes members answer reads from the state of now, like a follower that
// hears from its leader late. A sync, a write or a new session through the member
// brings it to the state of that moment, watches included; then it lags again. It
// turns a session that comes back and has seen more away without an answer. It
// also learns late that a session is over, and keeps its connections until then.
// [Faults.CatchUp] ends it.
func (f *Faults) LagUntilSync() { f.each(func(m *Member) { m.setLag(true) }) }

// CatchUp brings members up to date, and ends [Faults.LagUntilSync].
func (f *Faults) CatchUp() { f.each(func(m *Member) { m.setLag(false) }) }

func (m *Member) setLag(lags bool) {
	m.lags = lags
	m.part()
}

// CutFromLeader cuts members off from the rest of the ensemble. A member that is cut
// off answers pings and reads from the state at the cut. It keeps no session alive:
// sessions end after their timeout, and the member does not know. Writes, syncs and
// connects wait until the cut ends, and so does whatever their connection sends after
// them; then they are carried out if the connection still exists. If all members are
// cut off, the ensemble has no quorum, but its leader goes on counting the time of its
// sessions. [Faults.RejoinLeader] ends it.
func (f *Faults) CutFromLeader() {
	f.each(func(m *Member) {
		if m.uncut == nil {
			m.uncut = make(chan struct{})
		}
		m.part()
	})
}

// RejoinLeader ends [Faults.CutFromLeader].
func (f *Faults) RejoinLeader() { f.each((*Member).rejoin) }

func (m *Member) rejoin() {
	if m.uncut != nil {
		close(m.uncut)
		m.uncut = nil
	}
	m.part()
}
