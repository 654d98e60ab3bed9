package local

import (
	"context"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Ticket is a node of ours in ZooKeeper's line, with all that is known of it. It
// outlives the call that it was made for: another call may take its place in
// line, and a holder may hand it over. A Multi's has several nodes, which stand and
// go together.
type Ticket struct {
	kind   Kind
	weight int64
	number int64 // in the order in which they were made
	limit  int64 // of a permit: how many there are, as its node says
	strict bool  // it refuses permits of another limit
	try    bool  // made for a call that does not wait
	fixed  bool  // it names its call for good: it serves no other

	moving  bool    // on its way to a turn: in line, or being renewed
	renewed bool    // by a renewal, after a holder
	group   *group  // whom it will serve when its turn comes
	holder  *Holder // who stands on it
	alone   bool    // the renewal succeeds only if nobody else is in line
	turns   int     // hand-overs since nobody else was known to wait
	used    bool    // it has served somebody
	seen    bool    // somebody has seen its fence, or a renewal failed: it serves nobody else

	// What the lock knows of it. All is guarded by the lock's mutex.
	e      *queue.Entry
	pub    *published
	lease  queue.Lease             // for hand-overs, once somebody waits for one
	arming bool                    // somebody gets the lease's watch
	peer   *Peer                   // whom it waits for, as far as known
	cancel context.CancelCauseFunc // of the request that moves it; nil: none is under way
	shrunk int                     // how often its node was to be replaced by a smaller one
	left   bool                    // nobody wants it any more
	given  bool                    // back, so that its deletion is told: see release
	after  *Ticket                 // that has to stand in line before this one leaves
	rel    *Deletion               // what whoever gave the lock back waits for
	placed chan struct{}           // closed once it stands in line
	sent   chan struct{}           // of a permit: closed once the request that makes its node was sent
	gone   chan struct{}           // closed once its nodes are known to be gone
}

// serves reports whether a ticket on its way can be given to g.
func (t *Ticket) serves(g *group) bool {
	return t.kind == g.Kind && t.weight == g.Weight && t.agrees(g.Want) && !t.try && !t.fixed && t.holder == nil &&
		!g.Handle && !g.Try && (g.Kind != Read || g.shares())
}

// agrees reports whether the node says what a call for permits would say: the same limit.
// Whether others say so, too, each call that minds has to find out by itself.
func (t *Ticket) agrees(w *Want) bool {
	return w.Kind != Permit || t.limit == w.Limit && !t.strict && !w.Strict
}

// lends reports whether the ticket under a holder may serve a call next that wants w.
func (t *Ticket) lends(h *Holder, w *Want) bool {
	return t.kind == w.Kind && t.agrees(w) && !t.seen && !t.fixed && h.lost == nil && h.handoff > 0 && w.plain()
}
