package local

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Cleaner records every entry from before its first request until its nodes are known
// to be gone.
type Cleaner struct {
	t       *Table
	pending atomic.Int64 // nodes whose deletion is not confirmed

	mu      sync.Mutex
	entries map[*queue.Entry]struct{} // guarded by mu; those that have nodes in ZooKeeper, or may have
	refused refusals                  // guarded by mu
	changed chan struct{}             // guarded by mu; closed and replaced when an entry goes
}

func (c *Cleaner) init(t *Table) {
	c.t, c.entries, c.changed = t, make(map[*queue.Entry]struct{}), make(chan struct{})
}

// PendingNodes returns the number of nodes whose deletion is not confirmed yet.
func (c *Cleaner) PendingNodes() int64 { return c.pending.Load() }

// track records an entry before its first request.
func (c *Cleaner) track(e *queue.Entry) {
	c.mu.Lock()
	c.entries[e] = struct{}{}
	c.mu.Unlock()
}

// expect counts a deletion from the decision to delete on.
func (c *Cleaner) expect() { c.pending.Add(1) }

// begin reports the start of an expected deletion to the observer. settled reports the
// end and counts the deletion as done.
func (c *Cleaner) begin() { c.t.Observer.Pending(1) }

func (c *Cleaner) settled() {
	c.pending.Add(-1)
	c.t.Observer.Pending(-1)
}

// remove deletes an entry's nodes, however long that takes. The caller must have called
// expect. sent is that of queue.Entry.Remove.
func (c *Cleaner) remove(e *queue.Entry, sent func()) error {
	c.begin()
	return c.removes(e, sent)
}

// removeSoon does the same as remove, without a wait for the answer. See
// queue.Entry.RemoveSoon for pace; sent is called once the caller need not wait any more.
// done gets the result and must not block. It may be called by the goroutine that reads
// the answers.
func (c *Cleaner) removeSoon(e *queue.Entry, pace conn.Pace, sent func(), done func(error)) {
	c.begin()
	if e.RemoveSoon(pace, func(err error) { c.forget(e, err); done(err) }) {
		sent()
		return
	}
	go func() { done(c.removes(e, sent)) }()
}

// removes is remove for a deletion whose start has been reported.
func (c *Cleaner) removes(e *queue.Entry, sent func()) error {
	err := e.Remove(sent)
	if open := e.Open(); len(open) > 0 && !errors.Is(err, conn.ErrClosed) {
		c.t.Observer.Refused(open[0], true, err)
		go c.chase(e)
		return err
	}
	c.forget(e, err)
	return err
}

// chase repeats Remove for an attempt to stand in line whose outcome the servers refuse
// to report. It stops when they report it, when the session is over, or when the
// connection is closed.
func (c *Cleaner) chase(e *queue.Entry) {
	tick := time.NewTicker(max(c.t.Conn.Timeout(), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.t.Conn.Life().Done():
		}
		if err := e.Remove(nil); len(e.Open()) == 0 || errors.Is(err, conn.ErrClosed) {
			c.forget(e, err)
			return
		}
	}
}

// forget removes an entry whose nodes are known to be gone or can't be deleted. After
// conn.ErrClosed the entry stays, so that Left returns its nodes.
func (c *Cleaner) forget(e *queue.Entry, err error) {
	defer c.settled()
	switch {
	case errors.Is(err, conn.ErrClosed):
		return
	case err != nil && !gone(err):
		c.t.Observer.Refused(e.Last(), false, err)
	}
	c.mu.Lock()
	delete(c.entries, e)
	c.refused.add(e.Kept())
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// Cleaned waits until the nodes of all entries are known to be gone. It returns false
// if limit fires first, or if the connection or the program's client is closed.
func (c *Cleaner) Cleaned(limit <-chan time.Time) bool {
	for {
		c.mu.Lock()
		n, changed := len(c.entries), c.changed
		c.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-changed:
		case <-limit:
			return false
		case <-c.t.Conn.Life().Done():
			return false
		case <-c.t.Conn.Abandoned():
			return false
		}
	}
}

// Left returns what is not known to be gone: nodes, the paths of nodes that may have
// been made (they lack the sequence), and the nodes of a session that ZooKeeper has
// refused to delete.
func (c *Cleaner) Left(session int64) (nodes, open, refused []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.entries {
		nodes = append(nodes, e.Left()...)
		open = append(open, e.Open()...)
		c.refused.add(e.Kept())
	}
	return nodes, open, c.refused.of(session)
}

// maxRefused bounds the memory for nodes that ZooKeeper refuses to delete.
const maxRefused = 100

// refusals records nodes of one session that ZooKeeper has refused to delete. They
// vanish with the session. The zero value is empty.
type refusals struct {
	session int64
	nodes   []string
}

func (r *refusals) add(session int64, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	if r.session != session {
		*r = refusals{session: session}
	}
	r.nodes = append(r.nodes, nodes[:min(len(nodes), maxRefused-len(r.nodes))]...)
}

// of returns the nodes of a session.
func (r *refusals) of(session int64) []string {
	if r.session != session {
		return nil
	}
	return slices.Clone(r.nodes)
}
