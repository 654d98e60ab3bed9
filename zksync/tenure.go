package zksync

import (
	"context"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// tenure is one holder's time with the lock: from a grant, by ZooKeeper or by
// the holder before, until as many unlocks have come as there were calls of
// its owner. All fields but the first group are guarded by lock.mu.
type tenure struct {
	l       *lock
	e       *queue.Entry
	kind    znode.Kind
	shared  bool  // by readers of nobody in particular
	weight  int64 // of a permit
	owner   Owner
	acq     Acquire
	handoff int // budget of the value that took it
	start   time.Time

	plain    int                // levels by Lock, LockContext, TryLock
	holds    map[*Hold]struct{} // levels by Hold, TryHold, Do
	guard    *conn.Guard        // while there are holds
	looked   []bool             // by node: somebody looks at it; nil before the first hold
	handoffs int                // tenures before this one on the same node, since it was alone
	pub      *published         // what its nodes say; may be nil
	lease    queue.Lease        // for hand-overs, once somebody waits for one
	arming   bool
	exposed  bool  // somebody has seen the fence: never handed over, since two holders would share it
	lost     error // Is ErrLost
	over     bool  // no longer lock.ten
	taken    bool  // of a permit: its call has not ended otherwise
	revoked  bool  // asked back

	trace   string          // traceparent of the call that took it
	ctx     context.Context // HoldStart's
	begun   bool            // HoldStart is somebody's to run
	started bool            // it has run
	ended   Ending          // with a reason once it has ended; told by whoever runs HoldStart
}

// passes reports whether the lock goes from t to w without ZooKeeper when t
// ends, so that w need not stand in line there.
func (t *tenure) passes(w *waiter) bool {
	if t.kind != w.kind || t.kind == znode.Read || t.kind == znode.Permit || len(t.l.reads) > 0 {
		return false // reads: the owner goes on reading beside the node
	}
	return !t.exposed && t.handoff > 0 && !w.hold && !w.acq.Try && w.handoff > 0
}

// armLocked watches the node once somebody waits for a hand-over: without the
// watch the lock could be handed over on a node that somebody has deleted.
func (t *tenure) armLocked() {
	if t.lease.Own() != nil || t.arming {
		return
	}
	t.arming = true
	t.l.ref()
	go func() {
		defer t.l.leave()
		if lease, err := t.e.Watched(); err == nil {
			t.l.mu.Lock()
			t.lease = lease
			t.l.mu.Unlock()
			t.l.follow(t.e, lease.Own())
		}
	}()
}

// endLocked notes how the tenure ended. What it returns has to be run: it tells
// the tracer, if HoldStart has run; otherwise begin does so after HoldStart. Close
// waits for that.
func (t *tenure) endLocked(e Ending) after {
	s := t.l.s
	f := s.cfg.tracer.HoldEnd
	if f == nil || t.ended.Reason != "" {
		return nil
	}
	e.Held = time.Since(t.start)
	t.ended = e
	if !t.started {
		return nil
	}
	ctx := t.ctx
	s.events.begin()
	return func() {
		defer s.events.end()
		s.hook(func() { f(ctx, t.acq, e) })
	}
}

// begin runs HoldStart, once a tenure, in the goroutine of a call that got the
// lock: of several that share it or enter again, the first to come here.
func (t *tenure) begin(ctx context.Context) {
	s := t.l.s
	tr := s.cfg.tracer
	if tr.HoldStart == nil && tr.HoldEnd == nil {
		return
	}
	t.l.mu.Lock()
	begun := t.begun
	t.begun = true
	t.l.mu.Unlock()
	if begun {
		return
	}
	hctx := ctx
	if f := tr.HoldStart; f != nil {
		hctx = f(ctx, t.acq)
	}
	t.l.mu.Lock()
	t.ctx, t.started = hctx, true
	ended := t.ended
	t.l.mu.Unlock()
	if f := tr.HoldEnd; ended.Reason != "" && f != nil {
		s.events.push(func() { s.hook(func() { f(hctx, t.acq, ended) }) })
	}
}

// freeLocked takes the tenure out of its place.
func (t *tenure) freeLocked() after {
	l := t.l
	t.over = true
	if t.kind == znode.Read || t.kind == znode.Permit {
		own := func(o *tenure) bool { return o == t }
		l.reads = slices.DeleteFunc(l.reads, own)
		l.debts = slices.DeleteFunc(l.debts, own)
	} else {
		l.ten = nil
	}
	l.s.stats.held.Add(-1)
	return l.leave
}

func (t *tenure) unguardLocked() after {
	g := t.guard
	t.guard = nil
	if g == nil {
		return nil
	}
	return g.Stop
}
