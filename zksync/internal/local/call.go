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

// Want describes what a call asks for. It is a plain value.
type Want struct {
	Kind    Kind
	Owner   string // the token of the owner; "" means no owner
	Weight  int64  // of a permit; with 0 the call waits for those before it and takes nothing
	Limit   int64  // of a permit: the number of permits, according to this call
	Handle  bool   // the caller sees the fence, so that the ticket serves nobody else
	Try     bool   // the call does not wait
	Must    bool   // the call has no error to return, so that Shutdown does not end it
	Within  bool   // the work that makes the call holds the lock: the call enters for an owner, or fails
	Strict  bool   // fail if permits of another limit are before the call's
	Handoff int    // how many calls in a row a ticket may serve while others wait elsewhere

	Linger time.Duration // how long the node may stay for the session's next call; 0: not at all
}

// plain reports whether the caller can't observe which node serves it, so that the
// node may serve other calls before and after.
func (w *Want) plain() bool { return !w.Handle && !w.Try && w.Handoff > 0 }

// shares reports whether the call may be served together with other readers.
func (w *Want) shares() bool { return w.Kind == Read && w.plain() && w.Owner == "" }

// size returns the number of levels of a call without a handle.
func (w *Want) size() int64 {
	if w.Kind == Permit {
		return w.Weight
	}
	return 1
}

// Name is the description of a call in the data of the node that serves it. It is a
// plain value; the zero value names nobody.
type Name struct {
	OwnerID string
	Owner   string // the call's label, or else the owner's name
	Trace   string // a traceparent
}

// Caller connects a call with the program.
type Caller interface {
	// Blocked gets the node that the call waits for. It runs in the call's goroutine.
	Blocked(Peer)
	// Ended records how the holding that began with this call has ended: with a
	// loss, or with nil after a release. revoked reports whether the lock was asked
	// back before. Ended is called with the lock's mutex held and calls no function of
	// the program; the function that it returns does so, if it is not nil.
	Ended(why error, revoked bool, held time.Duration) func()
	// Releasing is called when the deletion of the holding's node begins. The
	// function that it returns is called with the result.
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
	Quiet bool // nothing tells it from others, and it may be used again once Acquire has returned nil

	// The result, which the caller may read once Acquire has returned.
	Handle    *Handle // if one was wanted
	Contended bool    // it had to wait
	Handed    bool    // its node had served another call before
	Position  int     // in line when it failed; 0: not known
	Node      string

	group   *group        // to which it belongs while it waits
	index   int           // in group.calls
	holder  *Holder       // the holder that serves it; nil: not granted
	err     error         // the error that ended its wait
	ready   chan struct{} // gets a value when the call is answered, if it waited
	queued  bool          // it was not answered at once; guarded by the lock's mutex
	woken   *Call         // the next one in Lock.wake
	own     group         // for newGroup
	waits   bool          // it is in the line
	came    int64         // its number among the calls that joined a line: see forbid
	granted bool          // it has taken its grant
	enters  bool          // it enters the holder of its owner
	into    *Holder       // its owner's, which lasts until the call has entered it: see gather
	ahead   *Holder       // the holder of its own session that it found
	peer    *Peer         // the node that it waits for, as last reported
	news    chan struct{} // signals a new peer; nil: the caller does not listen
}

// First returns the caller of the call that began this call's holding. That is another
// call if several share the holding, or if an owner entered again.
func (c *Call) First() Caller { return c.holder.first.Caller }

// Held returns the full path of the node that serves the call.
func (c *Call) Held() string { return c.holder.ticket.e.Node() }

// Granted reports whether the call has a holder. A call for no permits has none.
func (c *Call) Granted() bool { return c.holder != nil }

// Recycle clears a Quiet call that was granted.
func (c *Call) Recycle() { *c = Call{ready: c.ready, news: c.news} }

// group holds the calls that one ticket will serve together: a single call, or
// readers that share.
type group struct {
	*Want  // of the first call
	calls  []*Call
	first  [1]*Call      // the start of calls, so that a single call needs no further memory
	ticket *Ticket       // the ticket that will serve it; nil: none yet, or that of the present holder
	front  bool          // it may stand in ZooKeeper's line
	adds   bool          // of a permit in front: its node adds to what stands in the line
	asks   *list.Element // in line.asking

	next, prev *group // in line.waits
}

// groups is a list of groups that needs no memory of its own. The zero value is empty.
type groups struct {
	first, last *group
	n           int
}

func (l *groups) add(g *group) {
	g.prev, g.next = l.last, nil
	if l.last == nil {
		l.first = g
	} else {
		l.last.next = g
	}
	l.last = g
	l.n++
}

func (l *groups) remove(g *group) {
	if g.prev == nil {
		l.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		l.last = g.prev
	} else {
		g.next.prev = g.prev
	}
	g.next, g.prev = nil, nil
	l.n--
}

// newGroup returns a group of one call. A call that shares with no other one has the
// memory for it.
func newGroup(c *Call) *group {
	g := &c.own
	if c.shares() {
		g = new(group)
	}
	*g = group{Want: &c.Want}
	g.add(c)
	return g
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
