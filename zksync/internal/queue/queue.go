// Package queue is the engine of all locks: it stands in line at a path, waits for
// its turn, and leaves. A Rule decides whether a lock is a mutex or something else.
package queue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

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

// errAgain: the node in line, or its session, is gone: stand at the end again.
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
	ran     conn.Ran     // of the attempt that is open
	sent    []byte       // the data of its nodes
	made    []string     // its nodes, if their names are known
	guid    znode.GUID   // of the attempt whose nodes stand
	owned   bool         // guid is registered
	session int64        // the session that owns the nodes
	nodes   []string     // full paths, one a place; a new slice for new nodes
	fence   atomic.Int64 // czxid of the nodes, once known

	// Taken while nodes are replaced or deleted. It is no sync.Mutex, because that
	// would be held during requests, and a goroutine that waits for it would stop the
	// time of a synctest bubble.
	op   chan struct{}
	torn bool // guarded by op; a transaction of ours may have deleted some of left

	mu   sync.Mutex
	data data     // guarded by mu; the data of the nodes
	open []string // guarded by mu; nodes that were requested, while it is unknown whether they were made
	left []string // guarded by mu; nodes not known to be gone
	last string   // guarded by mu; the first node of the newest attempt
	node string   // guarded by mu; the first of the nodes that stand
	kept refused  // guarded by mu
}

// New returns an entry that does not stand in line yet.
func New(c *conn.Conn, o Order) *Entry {
	return &Entry{c: c, order: o, permit: o.Places[0].Kind == znode.Permit, op: make(chan struct{}, 1), data: data{want: o.Data}}
}

// alter begins to replace or delete nodes; the returned function ends it.
func (e *Entry) alter() (end func()) {
	e.op <- struct{}{}
	return func() { <-e.op }
}

// alterPermit is alter for a permit, whose node may be replaced at any time; else it
// does nothing.
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
	return e.node
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
	e.open, e.left, e.last, e.node = nil, nodes, nodes[0], nodes[0]
	e.mu.Unlock()
	if e.order.Placed != nil {
		e.order.Placed()
	}
}

// Session returns the session that owns the nodes.
func (e *Entry) Session() int64 { return e.session }

// Fence returns the zxid of the transaction that made the nodes. It is 0 unless the
// order asked for it or the entry had to wait.
func (e *Entry) Fence() int64 { return e.fence.Load() }

// ReadFence requests the fence.
func (e *Entry) ReadFence() error {
	err := e.readFence(0)
	if errors.Is(err, errAgain) {
		return conn.ErrNodeGone
	}
	return err
}

// Confirm asks the quorum whether the nodes exist and their session lives. It returns
// conn.ErrNodeGone or conn.ErrSessionOver if not, and conn.ErrNoContact if there is no
// answer in time.
func (e *Entry) Confirm() error { return e.c.Prove(e.session, e.Nodes()...) }

// Position returns the last known position in line: 1 is the next, 0 means unknown.
// It may be called at any time.
func (e *Entry) Position() int { return int(e.place.Load()) }

// Stand gets in line and waits for the entry's turn. When it returns nil, the nodes
// exist, the session lives, and nobody else who follows the rule can hold the lock
// before Remove. Otherwise it returns an error. In both cases Remove has to be called
// in the end.
//
// An entry whose node is deleted while it waits stands in line again. An entry with
// Order.Try does so once: after that the error is conn.ErrNodeGone, or
// conn.ErrSessionOver if the session ended meanwhile.
func (e *Entry) Stand(ctx context.Context) error {
	if len(e.order.Places) > 1 {
		// All later requests for the nodes are smaller than the one that makes
		// them, which has the path, the data and the access list of each node.
		// Another call may take the nodes over, with more data.
		if err := e.c.CanCreate(e.paths(znode.GUID{}), mostData(e.order.Data), e.order.ACL); err != nil {
			return err
		}
	}
	if e.order.After != nil {
		e.order.After(ctx)
		e.order.After = nil // which holds on to those who came before
	}
	if e.order.Try {
		if err := e.look(ctx); err != nil {
			return err
		}
	}
	for last := false; ; last = e.order.Try {
		err := e.create(ctx)
		if err == nil {
			err = e.wait(ctx)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		if st, _ := e.c.State(); e.order.Try && st.Session != e.session {
			return fmt.Errorf("%w: %w", conn.ErrSessionOver, zk.ErrSessionExpired)
		}
		if last {
			return fmt.Errorf("%w: %s", conn.ErrNodeGone, e.Last())
		}
		// The nodes are gone or must go; the next attempt has its own names.
		if err := e.Remove(); errors.Is(err, conn.ErrClosed) {
			return err
		}
	}
}

// BusyError is ErrBusy with the node that is in the way, if it is one node.
type BusyError struct{ Node string }

func (e *BusyError) Error() string { return ErrBusy.Error() }
func (e *BusyError) Unwrap() error { return ErrBusy }

// busy is the refusal of an entry that does not wait.
func (e *Entry) busy(p Place, line []znode.Name, v Verdict) error {
	if v.Watch < 0 {
		return ErrBusy
	}
	return &BusyError{path.Join(p.Parent, line[v.Watch].Raw)}
}

// look returns ErrBusy if standing in line would be in vain. It runs before any node
// is made, so that a refusal costs one read and leaves no trace.
func (e *Entry) look(ctx context.Context) error {
	for _, p := range e.order.Places {
		if p.Kazoo {
			continue
		}
		for rest := (pause{}); ; rest.wait(ctx) {
			if _, err := e.c.Await(ctx); err != nil {
				return err
			}
			names, _, err := e.c.Children(p.Parent)
			if errors.Is(err, zk.ErrNoNode) {
				break
			}
			if conn.Classify(err) != conn.Answered {
				if errors.Is(err, conn.ErrClosed) {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			line := append(e.parse(p, names), znode.Name{Kind: p.Kind, Weight: p.Weight, Limit: p.Limit})
			if v := p.Rule(line, len(line)-1); !v.Held {
				e.place.Store(int32(v.place(len(line) - 1)))
				return e.busy(p, line, v)
			}
			break
		}
	}
	return nil
}

// wait waits for the turn in each place. The order does not matter: a position in
// line only gets better.
func (e *Entry) wait(ctx context.Context) error {
	if len(e.nodes) == 1 {
		_, err := e.walk(ctx, 0, nil)
		return err
	}
	began, _ := e.c.State()
	start, waited := time.Now(), false
	seen := e.listAll(ctx)
	for i, p := range e.order.Places {
		if p.Kazoo {
			continue // its node was made beside that of the place before: nobody is between
		}
		w, err := e.walk(ctx, i, seen[i])
		if err != nil {
			return err
		}
		if waited = waited || w; waited {
			clear(seen) // too old
		}
	}
	ends, _ := e.c.State()
	// Each place was seen at its own time. quick: all were seen within a short time,
	// on one connection.
	quick := !waited && began.Up && ends.Epoch == began.Epoch && time.Since(start) < e.c.Timeout()/6
	if quick {
		return nil
	}
	for p := (pause{}); ; p.wait(ctx) {
		if _, err := e.c.Await(ctx); err != nil {
			return err
		}
		err := e.c.Prove(e.session, e.nodes...)
		switch {
		case errors.Is(err, conn.ErrSessionOver), errors.Is(err, conn.ErrNodeGone):
			return errAgain
		case !again(err):
			return err
		}
	}
}
