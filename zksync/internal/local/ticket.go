package local

import (
	"context"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Ticket is a node of this session in ZooKeeper's line, with all that is known of it. It
// outlives the call that it was made for: another call may take its place in line, and a
// holder may hand it over. The ticket of a Multi has several nodes, which are made and
// deleted together.
type Ticket struct {
	kind   Kind
	weight int64
	number int64 // tickets are numbered in the order in which they are made
	limit  int64 // of a permit: the number of permits, as in the name of its node
	strict bool  // it refuses permits of another limit
	try    bool  // made for a call that does not wait
	fixed  bool  // its nodes can't be rewritten and name its call, so that it serves no other

	moving  bool    // on its way to a turn: in line, or being renewed
	renewed bool    // it moves by a renewal, after a holder
	group   *group  // the group that it will serve when its turn comes
	holder  *Holder // the holder that it serves
	alone   bool    // the renewal succeeds only if nobody else is in line
	turns   int     // hand-overs since the last time that nobody else was known to wait
	used    bool    // it has served a call
	rested  bool    // it has lingered since its last holder
	seen    bool    // a caller has seen its fence, or a renewal failed: it serves nobody else

	// The lock's data about the ticket, guarded by the lock's mutex.
	e      *queue.Entry
	says   bool                    // its nodes have data that may be rewritten
	pub    *published              // nil: its nodes have named no call so far
	lease  queue.Lease             // for hand-overs, once a call waits for one
	arming bool                    // the lease's watch is being set
	peer   *Peer                   // the node that it waits for, if known
	asked  bool                    // it was asked back, so that it does not linger
	waited bool                    // it had to wait for its turn in ZooKeeper's line
	stay   *staying                // nil: it has not lingered yet
	quick  *quick                  // the holder for calls that leave no trace; nil: none yet
	cancel context.CancelCauseFunc // ends the request that moves it; nil: none is under way
	shrunk int                     // how many times its node was to be replaced by a smaller one
	left   bool                    // its node is to be deleted
	given  bool                    // its holder gave the lock back, so that release deletes the nodes
	after  *Ticket                 // the ticket that has to stand in line before this one leaves
	rel    *Deletion               // the deletion or renewal that the call which gave the lock back waits for
	placed signal                  // given once it stands in line
	sent   chan struct{}           // of a permit: closed once the request that makes its node was sent
	gone   signal                  // given once its nodes are known to be gone
}

// signal is given once. It has a channel only once somebody waits for it, because most
// tickets are held for long with nobody waiting. The lock's mutex guards it. The zero
// value has not been given.
type signal struct{ c chan struct{} }

// given is the channel of all signals that were given before anybody waited for them.
var given = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// give gives the signal, unless that was done before.
func (s *signal) give() {
	if s.c == nil {
		s.c = given
	}
	closeOnce(s.c)
}

// isGiven reports whether the signal was given.
func (s *signal) isGiven() bool { return s.c != nil && isClosed(s.c) }

// wait returns a channel that is closed once the signal is given. It may be read without
// the mutex.
func (s *signal) wait() <-chan struct{} {
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// serves reports whether a ticket on its way can be given to g.
func (t *Ticket) serves(g *group) bool {
	return t.kind == g.Kind && t.weight == g.Weight && t.agrees(g.Want) && !t.try && !t.fixed && t.holder == nil &&
		!g.Handle && !g.Try && (g.Kind != Read || g.shares())
}

// agrees reports whether the node has the limit that a call for permits would give it. A
// strict call has to find out the limits of the other nodes by itself.
func (t *Ticket) agrees(w *Want) bool {
	return w.Kind != Permit || t.limit == w.Limit && !t.strict && !w.Strict
}

// lends reports whether the ticket of a holder may next serve a call that wants w.
func (t *Ticket) lends(h *Holder, w *Want) bool {
	return t.kind == w.Kind && t.agrees(w) && !t.seen && !t.fixed && h.lost == nil && h.handoff > 0 && w.plain()
}
