package zksync

import (
	"context"
	"errors"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/defect"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// tenure is one holder's time with the lock: from a grant, by ZooKeeper or by
// the holder before, until as many unlocks have come as there were calls of
// its owner. All fields but the first group are guarded by lock.mu.
type tenure struct {
	l       *lock
	e       *queue.Entry
	owner   Owner
	acq     Acquire
	handoff int // budget of the value that took it
	start   time.Time

	plain    int                // levels by Lock, LockContext, TryLock
	holds    map[*Hold]struct{} // levels by Hold, TryHold, Do
	guard    *conn.Guard        // while there are holds
	handoffs int                // tenures before this one on the same node, since it was alone
	lease    queue.Lease        // for hand-overs, once somebody waits for one
	arming   bool
	exposed  bool  // somebody has seen the fence: never handed over (lesson 72)
	lost     error // Is ErrLost
	over     bool  // no longer lock.ten

	asked   context.Context // AcquireStart's
	ctx     context.Context // HoldStart's
	begun   bool            // HoldStart is somebody's to run
	started bool            // HoldStart has run
	ended   *Ending         // to be told by whoever runs HoldStart
}

// mine reports whether w may enter the tenure again: it is for the same owner.
func (t *tenure) mine(w *waiter) bool {
	return t != nil && !w.owner.IsZero() && t.owner == w.owner
}

// passes reports whether the lock goes from t to w without ZooKeeper when t
// ends, so that w need not stand in line there.
func (t *tenure) passes(w *waiter) bool {
	if defect.On(defect.SharedHold) {
		return t.handoff > 0 && !w.acq.Try && t.e.Fence() != 0
	}
	return !t.exposed && t.handoff > 0 && !w.hold && !w.acq.Try && w.handoff > 0
}

// armLocked watches the node, as a hand-over needs (lesson 71), once somebody
// waits for one.
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

// follow ends the tenure that stands on e when the watch on its node says that
// it was deleted.
func (l *lock) follow(e *queue.Entry, w *conn.Watch) {
	l.s.conn.After(w, func() {
		if _, deleted := w.Over(); !deleted {
			return
		}
		l.mu.Lock()
		var ended after
		if l.ten != nil && l.ten.e == e {
			ended = l.ten.loseLocked(conn.ErrNodeGone)
		}
		l.mu.Unlock()
		ended.run()
	})
}

// lose ends the tenure because the lock is lost.
func (t *tenure) lose(reason error) {
	t.l.mu.Lock()
	ended := t.loseLocked(reason)
	t.l.mu.Unlock()
	ended.run()
}

// loseLocked marks the loss. Holds end and free their place at once. A plain
// lock has nobody to tell: it keeps its place in this process until its own
// Unlock, which would otherwise release the next goroutine's (lesson 65).
func (t *tenure) loseLocked(reason error) after {
	if t.lost != nil || t.over {
		return nil
	}
	s := t.l.s
	if st, _ := s.conn.State(); errors.Is(reason, conn.ErrNodeGone) && st.Session != t.e.Session() {
		reason = conn.ErrSessionOver // which is why it is gone
	}
	t.lost = lost(reason)
	s.stats.losses.Add(1)
	s.stats.cleanup.Add(1) // before anybody sees the loss, and looks
	unguard := t.unguardLocked()
	var told []after
	for h := range t.holds {
		told = append(told, h.endLocked(t.lost))
	}
	plain := t.plain > 0 && !defect.On(defect.FreedLoss)
	t.holds = nil
	var freed after
	if !plain {
		freed = t.freeLocked()
	}
	t.l.advanceLocked()
	told = append(told, t.endLocked(Ending{Reason: endReason(reason), Err: t.lost}))
	return func() {
		for _, f := range told {
			f.run() // contexts first
		}
		unguard.run()
		go func() { _ = s.remove(t.e) }()
		if plain {
			s.logger().Error("zksync: a lock without a handle was lost: its holder does not know",
				"path", t.acq.Path, "node", t.e.Node(), "error", t.lost)
		}
		freed.run()
	}
}

func endReason(err error) EndReason {
	switch {
	case errors.Is(err, ErrClosed):
		return EndClosed
	case errors.Is(err, conn.ErrNodeGone):
		return EndNodeDeleted
	case errors.Is(err, conn.ErrNoContact):
		return EndContactLost
	}
	return EndSessionExpired
}

// endLocked notes the end for the tracer, which hears of it after HoldStart.
func (t *tenure) endLocked(e Ending) after {
	e.Held = time.Since(t.start)
	f := t.l.s.cfg.tracer.HoldEnd
	switch {
	case t.ended != nil:
		return nil
	case !t.started:
		t.ended = &e
		return nil
	}
	t.ended = &e
	if f == nil {
		return nil
	}
	ctx := t.ctx
	return func() { t.l.s.hook(func() { f(ctx, t.acq, e) }) }
}

// begin runs HoldStart in the goroutine of the call that got the lock: of those
// that enter it again, the first to come here.
func (t *tenure) begin(ctx context.Context) {
	t.l.mu.Lock()
	begun := t.begun
	t.begun = true
	t.l.mu.Unlock()
	if begun {
		return
	}
	hctx := ctx
	if f := t.l.s.cfg.tracer.HoldStart; f != nil {
		hctx = f(ctx, t.acq)
	}
	t.l.mu.Lock()
	t.ctx, t.started = hctx, true
	ended := t.ended
	t.l.mu.Unlock()
	if f := t.l.s.cfg.tracer.HoldEnd; ended != nil && f != nil {
		f(hctx, t.acq, *ended)
	}
}

// freeLocked takes the tenure out of its place.
func (t *tenure) freeLocked() after {
	t.over = true
	t.l.ten = nil
	t.l.s.stats.held.Add(-1)
	return t.l.leave
}

func (t *tenure) unguardLocked() after {
	g := t.guard
	t.guard = nil
	if g == nil {
		return nil
	}
	return g.Stop
}

// release is a deletion that a caller may wait for.
type release struct {
	done chan struct{}
	err  error // before done is closed
}

// vacateLocked ends the tenure in good order: the lock goes to the next
// goroutine here, or the node is deleted. The place is free before the
// deletion is sent; ZooKeeper's order keeps the next one out until it is done
// (lesson 49). rel is nil after a hand-over at once, and for a lost lock.
func (t *tenure) vacateLocked() (rel *release, then after) {
	l := t.l
	freed := t.freeLocked()
	told := t.endLocked(Ending{Reason: EndUnlocked})
	unguard := t.unguardLocked()
	quit := after(func() {
		unguard.run()
		told.run()
		freed.run()
	})
	if t.lost != nil {
		l.advanceLocked()
		return nil, quit
	}
	head := l.headLocked()
	if head == nil || l.run != nil || !t.passes(head) {
		l.advanceLocked()
		rel = &release{done: make(chan struct{})}
		l.ref()
		return rel, func() {
			quit()
			t.remove(rel)
		}
	}
	budget := min(t.handoff, head.handoff)
	if t.handoffs >= budget && t.e.Alone(t.lease) {
		t.handoffs = 0 // nobody waits elsewhere: the budget starts anew
	}
	if t.handoffs < budget && t.e.Fit(t.lease) {
		// The hand-over: no request, one goroutine woken (lesson 32).
		l.grantLocked(head, &run{e: t.e, lease: t.lease, reused: true, handoffs: t.handoffs + 1})
		l.advanceLocked()
		return nil, quit
	}
	return l.renewLocked(t, t.handoffs >= budget), quit
}

// renewLocked looks after the node of a tenure that has ended, so that it may
// serve the next one here: it is watched again, the session proven alive, and,
// if the budget of hand-overs is used up, nobody else may be in line, which
// makes going to its back the same as staying. Whoever gives the lock back
// waits for the answer as for a deletion's: it says whether the lock was there
// to give (lesson 41).
func (l *lock) renewLocked(t *tenure, alone bool) *release {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &run{e: t.e, cancel: cancel, reused: true, handoffs: t.handoffs + 1, done: make(chan struct{})}
	if alone {
		r.handoffs = 0
	}
	l.run = r
	l.ref()
	own := t.lease.Own()
	rel := &release{done: make(chan struct{})}
	go l.drive(ctx, r, func(ctx context.Context) error {
		lease, err := t.e.Renew(ctx, alone)
		if w := lease.Own(); err == nil && w != own {
			l.follow(t.e, w)
		}
		r.lease = lease
		if err != nil && ctx.Err() != nil || errors.Is(err, queue.ErrNotAlone) {
			r.rel = rel // nobody wants the node any more: its deletion has the answer
			return err
		}
		rel.err = err
		close(rel.done)
		return err
	})
	return rel
}

// remove deletes the node of a tenure that has ended.
func (t *tenure) remove(rel *release) {
	s, tr := t.l.s, t.l.s.cfg.tracer
	t.l.mu.Lock()
	ctx := t.ctx // HoldStart may be running: another goroutine may give the lock back
	t.l.mu.Unlock()
	started := tr.ReleaseStart == nil
	s.stats.cleanup.Add(1)
	run := func() {
		defer t.l.leave()
		rel.err = s.remove(t.e)
		if started && tr.ReleaseEnd != nil {
			s.hook(func() { tr.ReleaseEnd(ctx, t.acq, rel.err) })
		}
		close(rel.done)
	}
	defer func() { go run() }() // also when the tracer panics
	if tr.ReleaseStart != nil {
		ctx = tr.ReleaseStart(ctx, t.acq)
		started = true
	}
}

// track notes an entry that may have nodes in ZooKeeper until remove has seen
// them gone.
func (s *Session) track(e *queue.Entry) {
	s.mu.Lock()
	s.pending[e] = struct{}{}
	s.mu.Unlock()
}

// remove deletes an entry's nodes, however long that takes. The caller has
// counted it, before anybody could look.
func (s *Session) remove(e *queue.Entry) error {
	s.cleanup(0)
	defer s.cleanup(-1)
	err := e.Remove()
	switch {
	case errors.Is(err, conn.ErrClosed):
		return err // still pending: Close tells of it
	case err != nil && !errors.Is(err, conn.ErrNodeGone) && !errors.Is(err, conn.ErrSessionOver):
		s.logger().Error("zksync: ZooKeeper refuses to delete a lock's node, which blocks the lock until the session ends",
			"node", e.Last(), "error", err)
	}
	s.mu.Lock()
	delete(s.pending, e)
	s.wakeLocked()
	s.mu.Unlock()
	return err
}
