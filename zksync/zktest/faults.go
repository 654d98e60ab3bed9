package zktest

import (
	"time"
)

// Faults makes the faults of servers, and of the network between them and their
// clients. Those of a [Server] act on all members that it has at the time of the call;
// those of a [Member] act on that member alone. A [Link] has faults of the network for
// single clients. These faults last until they are ended:
//
//   - Refuse, until Accept or Heal
//   - Blackhole, Delay, Jitter and Loss, until Heal
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
	for _, m := range f.targets() {
		change(m)
	}
}

// targets returns the members that the faults act on. The caller holds srv.mu.
func (f *Faults) targets() []*Member {
	if f.of != nil {
		return []*Member{f.of}
	}
	return f.srv.members
}

// Disconnect closes the connections of a session at once, even while traffic is held.
// Data on its way is lost. The session lives on, and may come back. The id 0 names no
// session.
func (f *Faults) Disconnect(session int64) {
	f.each(func(m *Member) {
		for _, c := range m.having(session) {
			c.disconnect()
		}
		m.cutLeaving(func(c *conn) bool { return session != 0 && c.session == session })
	})
}

// DisconnectAll closes all connections, as [Faults.Disconnect] does. New connections
// are accepted.
func (f *Faults) DisconnectAll() { f.each((*Member).cutAll) }

// cutAll closes all connections now. The caller holds srv.mu.
func (m *Member) cutAll() {
	m.disconnectAll()
	m.cutLeaving(func(*conn) bool { return true })
}

// disconnectAll closes the connections now, but for those that the server has ended
// before: they still deliver what was sent on them. So the client that reconfigures gets
// its answer before the servers start anew. The caller holds srv.mu.
func (m *Member) disconnectAll() {
	for _, c := range m.list() {
		c.disconnect()
	}
}

// cutLeaving closes those of the connections that the server has ended before which match
// is true for. The caller holds srv.mu.
func (m *Member) cutLeaving(match func(*conn) bool) {
	for c := range m.leaving {
		if match(c) {
			c.cut()
		}
	}
}

// Refuse makes servers refuse new connections. A connection to the address of a member
// ([Member.Addr]) gets ECONNREFUSED from the system, because nobody listens there any
// more, and [Member.Dial] returns that error too. A listener that was given to
// [Member.Serve] stays open: its connections are reset as soon as they are made. Existing
// connections go on. [Faults.Accept] and [Faults.Heal] end it.
func (f *Faults) Refuse() { f.each((*Member).shut) }

// Accept makes servers accept new connections again, after [Faults.Refuse], at the address
// that they had. It panics, and changes nothing, if one of these can't be opened, because
// another program has taken the port. On Linux that can't happen to an IPv4 port that the
// member has chosen itself: the member keeps it reserved.
func (f *Faults) Accept() {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	unshut(f.targets())
}

// Blackhole holds traffic back in the given directions, and lets it through in the
// others. Without an argument it holds both. No side gets a sign: nothing is closed,
// and connections are still accepted. While [ToServer] is held, the server hears
// nothing from connections, not even that they were closed. It learns that only when it
// sends something on them, such as an event. Held traffic arrives after [Faults.Heal], on
// connections that still exist.
func (f *Faults) Blackhole(directions ...Direction) {
	f.each(func(m *Member) { m.setNetwork(func(n *network) { n.hold(directions) }) })
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

// Loss makes each frame get lost with probability p, in both directions, from now on,
// and its connection end with it: TCP resends what is lost until it gives up. What
// was sent before the frame arrives, and what is sent after it does not. So a request
// may be lost, or only its answer. Chance is fixed by [WithSeed]. Zero or less means no
// loss, 1 and more that every frame is lost.
func (f *Faults) Loss(p float64) {
	f.each(func(m *Member) { m.setNetwork(func(n *network) { n.loss = p }) })
}

// Heal ends the faults of the network: those of [Faults.Refuse], [Faults.Blackhole],
// [Faults.Delay], [Faults.Jitter] and [Faults.Loss]. Frames that are already delayed
// arrive at their time. It panics, and changes nothing, where [Faults.Accept] does.
func (f *Faults) Heal() {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	unshut(f.targets())
	for _, m := range f.targets() {
		m.setNetwork(func(n *network) { *n = network{} })
	}
}

// DropReply makes servers carry out requests and lose their answers: they close the
// connection instead, and send no event of the change on it. match chooses the
// requests; nil ends this, but for a call that is under way. The server calls match once
// for each request but connects, one call at a time, and goes on after the first match.
// match must not wait for anything that a client does.
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
// them; then they are carried out if the connection still exists.
//
// While half of the members or more are cut off, the others make no transactions
// either. Their clients wait in the same way, and no session ends. But the leader goes
// on counting: a session that it has not heard of for its timeout ends as soon as it
// has a majority again. So it is in ZooKeeper for the time of its syncLimit. Then its
// servers close their connections and elect a leader: use [Server.LoseQuorum] for that.
// Two members are an exception: while one of them is cut off, the other stands for the
// majority of a larger ensemble, and goes on.
//
// [Faults.RejoinLeader] ends it.
func (f *Faults) CutFromLeader() {
	f.each(func(m *Member) {
		if m.uncut == nil {
			m.uncut = make(chan struct{})
		}
		m.part()
		f.srv.weigh()
	})
}

// RejoinLeader ends [Faults.CutFromLeader].
func (f *Faults) RejoinLeader() { f.each((*Member).rejoin) }

func (m *Member) rejoin() {
	if m.uncut != nil {
		close(m.uncut)
		m.uncut = nil
	}
	if m.missed {
		m.missed = false
		m.cutAll()
	}
	m.part()
	m.srv.weigh()
}
