package local

import (
	"container/list"
	"context"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Kind is the way a lock is held.
type Kind = znode.Kind

// The kinds.
const (
	Exclusive = znode.Exclusive // of a mutex, and of several locks at once
	Write     = znode.Write     // of a read-write lock
	Read      = znode.Read      // of a read-write lock, and of several read sides at once
	Permit    = znode.Permit    // of a semaphore
)

// Want is what a call asks for. It is a plain value.
type Want struct {
	Kind    Kind
	Owner   string // for whom: a token, "" is nobody
	Weight  int64  // of a permit; 0 waits for the calls before it and takes nothing
	Limit   int64  // of a permit: how many there are, as this call knows
	Handle  bool   // the caller sees the fence: the ticket serves nobody else
	Try     bool   // the call does not wait
	Must    bool   // the call has no error to return: Shutdown leaves it alone
	Within  bool   // the work that makes the call has the lock already: it enters for an owner, or fails
	Strict  bool   // permits of another limit before the call's are an error
	Handoff int    // how many calls in a row a ticket may serve while others wait elsewhere
}

// plain reports whether the caller can't tell which node it is served by, so that
// the node may serve other calls before and after.
func (w *Want) plain() bool { return !w.Handle && !w.Try && w.Handoff > 0 }

// shares reports whether the call may be served together with other readers.
func (w *Want) shares() bool { return w.Kind == Read && w.plain() && w.Owner == "" }

// size is the number of levels of a call without a handle.
func (w *Want) size() int64 {
	if w.Kind == Permit {
		return w.Weight
	}
	return 1
}

// Name is what a node says of the call that it serves. It is a plain value; the zero
// value names nobody.
type Name struct {
	OwnerID string
	Owner   string // the call's label, or else the owner's name
	Trace   string // a traceparent
}

// Caller is the side of a call that knows the program.
type Caller interface {
	// Blocked tells whom the call waits for, in the call's goroutine.
	Blocked(Peer)
	// Ended notes how the holding that began with this call has ended: with a loss,
	// or by nil, after it was asked back or not. It is called with the lock's mutex
	// held, and calls nothing of the program's: what it returns does, if not nil.
	Ended(why error, revoked bool, held time.Duration) func()
	// Releasing tells that the deletion of the holding's node begins. What it returns
	// tells how that ended.
	Releasing() func(error)
}

// Call is one call that wants a lock. The fields of the first group are the caller's
// to set.
type Call struct {
	Want
	Caller
	Ctx   context.Context
	Terms *Terms
	Name  Name

	// What has come of it, for the caller to read once Acquire has returned.
	Handle    *Handle // if one was wanted
	Contended bool    // it had to wait for somebody
	Handed    bool    // its node had served another call before
	Position  int     // in line when it failed; 0: not known
	Node      string

	group   *group  // while it waits
	index   int     // in group.calls
	holder  *Holder // that it was granted
	err     error   // that ended its wait
	ready   chan struct{}
	waits   bool          // in the line
	granted bool          // and taken
	enters  bool          // its owner's holder
	into    *Holder       // its owner's, which lasts until the call has entered it: see gather
	ahead   *Holder       // the holder of its own session that it met
	told    *Peer         // the newest word of whom it waits for
	news    chan struct{} // told is new; nil: nobody wants to know
}

// First returns the caller whose call began the holding that this one was granted:
// that of another call if several share it, or an owner entered again.
func (c *Call) First() Caller { return c.holder.first.Caller }

// Held returns the full path of the node of the holding that the call was granted.
func (c *Call) Held() string { return c.holder.ticket.e.Node() }

// Granted reports whether the call has a holder: a call for no permits has none.
func (c *Call) Granted() bool { return c.holder != nil }

// group is the calls that one ticket will serve together: a single call, or
// readers that share.
type group struct {
	*Want  // of the call that made it
	calls  []*Call
	first  [1]*Call // calls begins with, so that a single call takes no memory for them
	ticket *Ticket  // that will serve it; nil: none yet, or that of the present holder
	front  bool     // it may stand in ZooKeeper's line
	adds   bool     // of a permit in front: its node adds to what stands in the line
	elem   *list.Element
	asks   *list.Element // in line.asking
}

func (g *group) add(c *Call) {
	if g.calls == nil {
		g.calls = g.first[:0]
	}
	c.group, c.index = g, len(g.calls)
	g.calls = append(g.calls, c)
}

func (g *group) remove(c *Call) {
	last := len(g.calls) - 1
	g.calls[c.index] = g.calls[last]
	g.calls[c.index].index = c.index
	g.calls[last] = nil
	g.calls = g.calls[:last]
	c.group = nil
}
