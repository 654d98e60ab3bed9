package local

import "container/list"

// Kind is the way a lock is held.
type Kind uint8

// The kinds.
const (
	Exclusive Kind = iota + 1 // of a mutex, and of several locks at once
	Write                     // of a read-write lock
	Read                      // of a read-write lock
	Permit                    // of a semaphore
)

// Alone reports whether a holder of the kind holds beside nobody.
func (k Kind) Alone() bool { return k == Exclusive || k == Write }

// Want is what a call asks for. It is a plain value.
type Want struct {
	Kind    Kind
	Owner   string // for whom: a token, "" is nobody
	Weight  int64  // of a permit; 0 waits for the calls before it and takes nothing
	Handle  bool   // the caller sees the fence: the ticket serves nobody else
	Try     bool   // the call does not wait
	Handoff int    // how many calls in a row a ticket may serve while others wait elsewhere
}

// plain reports whether the caller can't tell which node it is served by, so that
// the node may serve other calls before and after.
func (w Want) plain() bool { return !w.Handle && !w.Try && w.Handoff > 0 }

// shares reports whether the call may be served together with other readers.
func (w Want) shares() bool { return w.Kind == Read && w.plain() && w.Owner == "" }

// Call is one call that wants the lock.
type Call struct {
	Want
	group  *group  // while it waits
	index  int     // in group.calls
	holder *Holder // that it was granted
	err    error   // that ended its wait
	ready  chan struct{}
}

// NewCall returns a call that wants w.
func NewCall(w Want) *Call { return &Call{Want: w, ready: make(chan struct{})} }

// group is the calls that one ticket will serve together: a single call, or
// readers that share.
type group struct {
	Want   // of the call that made it
	calls  []*Call
	ticket *Ticket // that will serve it; nil: none yet, or that of the present holder
	front  bool    // it may stand in ZooKeeper's line
	elem   *list.Element
}

func (g *group) add(c *Call) {
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
