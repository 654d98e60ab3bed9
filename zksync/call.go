package zksync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// call is one call that wants a lock, as the program and its tracer know it. This file
// is the way from a lock's methods to package local.
type call struct {
	local.Call
	s     *Session
	acq   AcquireInfo
	ctx   context.Context // AcquireStart's
	now   bool            // TryLock, TryAcquire: does not wait for a connection
	start time.Time
	lock  *local.Lock // which the call is counted in at
	hold  *Hold       // once it is granted
	asked bool        // AcquireStart has run
	end   error       // of the call; errPanic until it has one

	holding // that begins with this call
}

// newCall returns a call without a handle. If it leaves no trace, recycle can have it used
// again.
//
//go:noinline
func (m *Mutex) newCall(ctx context.Context) *call {
	m.check()
	if !m.silent || !leavesNoTrace(ctx) {
		return new(call)
	}
	c, ok := m.s.quiet.Get().(*call)
	if !ok {
		c = new(call)
	}
	c.Quiet = true
	return c
}

// recycle has a call that was granted used again if it leaves no trace.
//
//go:noinline
func (c *call) recycle() {
	if c.Quiet {
		c.Recycle()
		c.acq, c.ctx, c.lock, c.hold, c.end, c.asked, c.now = AcquireInfo{}, nil, nil, nil, nil, false, false
		c.s.quiet.Put(c)
	}
}

// holdCall returns a call for a handle. It is not inlined, for the stack of those who
// wait.
//
//go:noinline
func holdCall() *call {
	c := new(call)
	c.Want.Handle = true
	return c
}

// tries makes the call one that does not wait.
func (c *call) tries() *call {
	c.acq.Try, c.Try = true, true
	return c
}

var (
	// errPanic is what a call's AcquireEnd gets when a function of the tracer
	// panicked within the call.
	errPanic = errors.New("zksync: panic in a tracer's function")

	// errOffline is what a tracer is told of a TryLock while there is no connection.
	errOffline = fmt.Errorf("not connected: %w", zk.ErrNoServer)
)

// acquire is every way to get the lock. The error is an *Error.
func (m *Mutex) acquire(ctx context.Context, op string, c *call) error {
	m.check()
	m.describe(ctx, c)
	return m.outcome(op, c, m.traced(c))
}

// describe says in c whose call it is, and what it wants.
//
//go:noinline
func (m *Mutex) describe(ctx context.Context, c *call) {
	c.s, c.Ctx, c.ctx, c.Caller = m.s, ctx, ctx, c
	if !m.s.cfg.tracer.silent() {
		c.start = time.Now()
	}
	c.acq.Path, c.acq.Paths, c.acq.Mode, c.acq.Weight = m.path, m.paths, m.mode, c.Weight
	c.Kind, c.Terms, c.Handoff, c.Linger, c.Strict = m.kind, &m.cfg.Terms, m.cfg.handoff, m.cfg.linger, m.cfg.strict
	c.names(m, ctx)
}

//go:noinline
func (m *Mutex) outcome(op string, c *call, err error) error {
	if err == nil {
		return nil
	}
	c.hold = nil
	e := &Error{Op: op, Path: m.path, Node: c.Node, Position: c.Position, Err: err}
	if b := c.Behind(); b != nil {
		p := c.peer(*b)
		p.Position, e.Peer = c.Position, &p
	}
	return e
}

// whoElse completes the Peer of a refusal. If only the name of its node is known, whoElse
// reads the node, for a third of the session timeout at most.
func (m *Mutex) whoElse(ctx context.Context, err error) error {
	var e *Error
	if !errors.Is(err, ErrBusy) || !errors.As(err, &e) || e.Peer == nil || !e.Peer.Since.IsZero() {
		return err
	}
	ctx, cancel := m.brief(ctx)
	defer cancel()
	got := make(chan content, 1)
	go func() {
		if data, stat, err := m.s.conn.Get(e.Peer.Node); err == nil {
			got <- content{data, stat}
		}
		close(got)
	}()
	select {
	case a, ok := <-got:
		if ok {
			e.Peer.read(a.data, a.stat)
			e.Peer.Persistent = a.stat.EphemeralOwner == 0
		}
	case <-ctx.Done():
	}
	return err
}

// traced acquires the lock and tells the tracer of it. A panic of the tracer's
// gives back what was granted.
func (m *Mutex) traced(c *call) error {
	defer c.settle()
	c.begin()
	err := m.enter(c)
	if err == nil && c.lock != nil {
		if err = c.lock.Acquire(&c.Call); err != nil {
			err = c.failed(err)
		}
	}
	if err == nil {
		c.granted()
	}
	c.end = err
	return err
}

// begin, granted and answered tell the tracer of a call.
//
//go:noinline
func (c *call) begin() {
	if f := c.s.cfg.tracer.AcquireStart; f != nil {
		c.ctx = f(c.Ctx, c.acq)
	}
	c.Name.Trace = c.s.parent(c.ctx)
	c.asked, c.end = true, errPanic
}

// enter counts the call in as one that uses the lock, unless it has its result
// before it comes to that. settle counts it out.
//
//go:noinline
func (m *Mutex) enter(c *call) error {
	switch {
	case m.err != nil:
		return m.err
	case c.Kind == znode.Permit && (c.Weight > c.Limit || c.Weight == 0 && c.Want.Handle):
		return m.apart(c)
	case c.now && (c.Kind != znode.Permit || c.Weight > 0):
		if st, _ := m.s.conn.State(); !st.Up {
			return cmpErr(m.s.alive(), errOffline)
		}
	}
	if m.s.table.Entangled(m.full, &m.cfg.Terms, c.Owner) {
		return ErrDeadlock
	}
	c.lock = m.s.table.Enter(m.path, m.full)
	if m.cfg.Parts != nil {
		c.lock.Consist(&m.cfg.Terms)
	}
	return nil
}

// failed is what the package documents for an error of Lock.Acquire.
//
//go:noinline
func (c *call) failed(err error) error {
	switch {
	case errors.Is(err, ErrLost):
		return err
	case errors.Is(err, local.ErrDone):
		return ctxErr(c.Ctx)
	case errors.Is(err, local.ErrRefused):
		return ErrClosed
	case errors.Is(err, local.ErrDeadlock):
		return ErrDeadlock
	}
	return c.s.mapErr(context.Background(), err)
}

//go:noinline
func (c *call) granted() {
	if !c.Granted() {
		return // no permits: there is nothing to hold
	}
	if f := c.s.cfg.tracer.Handoff; f != nil && c.Handed {
		f(c.ctx, c.acq)
	}
	first, ok := c.First().(*call)
	if ok { // else there is no tracer
		first.startHold(c.ctx)
	}
	if c.Want.Handle {
		c.hold = newHold(c.s, first, c.Call.Handle)
	}
}

// settle ends a call, and counts it out. If a function of the tracer panicked
// it gives everything back.
//
//go:noinline
func (c *call) settle() {
	kept := false
	if l := c.lock; l != nil {
		defer l.Leave()
		defer func() { l.Settle(&c.Call, kept) }()
		l.Abort(&c.Call)
	}
	c.answered()
	kept = !errors.Is(c.end, errPanic)
}

func (c *call) answered() {
	if f := c.s.cfg.tracer.AcquireEnd; f != nil && c.asked {
		f(c.ctx, c.acq, c.result())
	}
}

func (c *call) result() AcquireEndInfo {
	st, _ := c.s.conn.State()
	r := AcquireEndInfo{Err: c.end, Node: c.Node, Position: c.Position, Contended: c.Contended || c.Handed, Handoff: c.Handed,
		Waited: time.Since(c.start), Server: st.Server}
	if c.end == nil && c.Granted() {
		r.Node = c.Held()
		if c.hold != nil {
			r.Fence = c.hold.Fence()
		}
	}
	return r
}

// Blocked passes on to the tracer whom the call waits for.
func (c *call) Blocked(b local.Peer) { c.s.cfg.tracer.Blocked(c.ctx, c.peer(b)) }

// peer is what the program sees of whom the call waits for.
func (c *call) peer(b local.Peer) Peer {
	s := c.s
	name, ok := znode.Parse(path.Base(b.Path))
	p := Peer{LockNode: newLockNode(b.Path, name), Position: b.Place, Local: b.Local}
	if !ok {
		p.Mode = "" // made by a recipe that the program has named
	}
	if b.Stat.Ctime != 0 {
		p.read(b.Data, &b.Stat)
		p.Persistent = b.Stat.EphemeralOwner == 0
	} else {
		p.Session, p.Since = b.Stat.EphemeralOwner, b.Since
		p.publishes(b.Data)
	}
	if b.Ours != nil && !s.cfg.noInfo {
		p.Identity, p.Host, p.PID = s.cfg.identity, s.host, os.Getpid()
		p.OwnerID, p.OwnerName, p.TraceParent = b.Name.OwnerID, b.Name.Owner, b.Name.Trace
	}
	return p
}
