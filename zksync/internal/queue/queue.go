// Package queue is the engine of all locks: it stands in line at a path, waits for
// its turn, and leaves. A Rule decides whether a lock is a mutex or something else.
package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// The errors of Stand that are its own. All others come from the connection or from
// the cause of the context.
var (
	ErrLimit     = errors.New("the limits in line differ")
	ErrBusy      = errors.New("somebody is in line")
	ErrExhausted = errors.New("sequence numbers exhausted")
)

// errAgain reports that the node in line or its session is gone, so that the entry has to
// stand at the end again.
var errAgain = errors.New("stand in line again")

// Entry stands in line. Stand is called once, and Remove after it; Remove is called
// again only after a refusal. Several goroutines may call the other methods once Stand
// has succeeded.
type Entry struct {
	c      *conn.Conn
	order  Order
	permit bool         // its one node is a permit's
	place  atomic.Int32 // in line; 0: not known

	// Written by Stand, and by Remove if an attempt is still open. session and nodes
	// are written with mu held.
	*attempted              // the newest attempt; nil once Stand has succeeded
	begun      *together    // the attempt of StandSoon, until its outcome is looked at
	old        *Entry       // the entry to swap for: see Swap
	guid       znode.GUID   // of the attempt whose nodes stand
	owned      bool         // guid is registered
	session    int64        // the session that owns the nodes
	nodes      []string     // full paths, one a place; a new slice for new nodes
	fence      atomic.Int64 // czxid of the nodes, once known

	// Taken while nodes are replaced or deleted. It is no sync.Mutex, because that
	// would be held during requests, and a goroutine that waits for it would stop the
	// time of a synctest bubble.
	op   chan struct{} // guarded by mu; made when it is needed first: see turn
	torn bool          // guarded by op; a transaction of ours may have deleted some of left

	mu   sync.Mutex
	data data     // guarded by mu; the data of the nodes
	open []string // guarded by mu; nodes that were requested, while it is unknown whether they were made
	left []string // guarded by mu; nodes not known to be gone
	last string   // guarded by mu; the first node of the newest attempt
	kept *refused // guarded by mu; nil: none
}

// attempted is what is known of one attempt to make the nodes.
type attempted struct {
	ran    conn.Ran
	sent   []byte    // the data of the nodes
	made   []string  // the nodes, if their names are known
	czxid  int64     // of the nodes, if known
	beside *together // what was sent with them, until it is looked at
}

// New returns an entry that does not stand in line yet.
func New(c *conn.Conn, o Order) *Entry {
	return &Entry{c: c, order: o, permit: o.Places[0].Kind == znode.Permit, data: data{want: o.Data}}
}

// alter begins to replace or delete nodes; the returned function ends it.
func (e *Entry) alter() (end func()) {
	op := e.turn()
	op <- struct{}{}
	return func() { <-op }
}

// turn returns the channel that is full while nodes are replaced or deleted.
func (e *Entry) turn() chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.op == nil {
		e.op = make(chan struct{}, 1)
	}
	return e.op
}

// alterPermit does the same as alter for a permit, whose node may be replaced at any
// time. For other kinds it does nothing.
func (e *Entry) alterPermit() (end func()) {
	if !e.permit {
		return func() {}
	}
	return e.alter()
}

// Node returns the full path of the entry's first node, or "".
func (e *Entry) Node() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.nodes) == 0 {
		return ""
	}
	return e.nodes[0]
}

// Nodes returns the full paths of the entry's nodes, one a place.
func (e *Entry) Nodes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.nodes
}

// Left returns the nodes that are not known to be gone. It may be called at any
// time.
func (e *Entry) Left() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left
}

// Open returns the nodes that the newest attempt asked the servers to make, while it
// is unknown whether they were made. They are full paths that lack the sequence. Open
// may be called at any time.
func (e *Entry) Open() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// tries records the nodes of an attempt before it is sent; nil ends the record.
func (e *Entry) tries(paths []string) {
	e.mu.Lock()
	e.open = paths
	e.mu.Unlock()
}

// leaves records which nodes are not known to be gone.
func (e *Entry) leaves(nodes []string) {
	e.mu.Lock()
	e.left = nodes
	e.mu.Unlock()
}

// Last returns the full path of the first node of the newest attempt, or "".
// It may be called at any time.
func (e *Entry) Last() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// stands records the nodes that stand, and the data that they were made with.
func (e *Entry) stands(session int64, nodes []string, sent []byte) {
	e.fence.Store(0) // that of an earlier attempt is not theirs
	e.mu.Lock()
	e.session, e.nodes = session, nodes
	e.data.standing(sent, len(nodes))
	e.open, e.left, e.last = nil, nodes, nodes[0]
	e.mu.Unlock()
	if e.order.Placed != nil {
		e.order.Placed()
	}
}

// succeeded frees the memory of what only Stand uses.
func (e *Entry) succeeded() {
	e.attempted = nil
	o := &e.order
	o.Blocked, o.Placed, o.Sent, o.Others, o.Limits = nil, nil, nil, nil, nil
}

// Session returns the session that owns the nodes.
func (e *Entry) Session() int64 { return e.session }

// Fence returns the zxid of the transaction that made the nodes. It is 0 if that is not
// known: the answer to the creation was lost, or a program's client has dropped it, and
// nobody has asked for the fence.
func (e *Entry) Fence() int64 { return e.fence.Load() }

// ReadFence reads the fence if it is not known. While there is no connection it waits. It
// returns conn.ErrNodeGone if the node does not exist.
func (e *Entry) ReadFence() error {
	if e.Fence() != 0 {
		return nil
	}
	if _, err := e.c.Await(context.Background()); err != nil {
		return err
	}
	err := e.readFence(0)
	if errors.Is(err, errAgain) {
		return conn.ErrNodeGone
	}
	return err
}

// Confirm asks the quorum whether the nodes exist and their session lives. While there is
// no connection it waits. It returns conn.ErrNodeGone or conn.ErrSessionOver if not, and
// conn.ErrNoContact if there is no answer in time.
func (e *Entry) Confirm() error {
	if _, err := e.c.Await(context.Background()); err != nil {
		return err
	}
	return e.c.Prove(e.session, e.Nodes()...)
}

// Position returns the last known position in line: 1 is the next, 0 means unknown.
// It may be called at any time.
func (e *Entry) Position() int { return int(e.place.Load()) }

// awaitSession waits for a connection. It returns conn.ErrSessionOver if the session
// that owns the nodes is over.
func (e *Entry) awaitSession(ctx context.Context) error {
	st, err := e.c.Await(ctx)
	if err != nil {
		return err
	}
	if st.Session != e.session {
		return conn.ErrSessionOver
	}
	return nil
}
