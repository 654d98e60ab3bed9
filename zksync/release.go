package zksync

import (
	"context"
	"errors"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// release is a deletion that a caller may wait for.
type release struct {
	done chan struct{}
	err  error // before done is closed
}

// vacateLocked ends the tenure in good order: the lock goes to the next
// goroutine here, or the node is deleted. The place is free before the
// deletion is sent; ZooKeeper's order keeps the next one out until it is done
// (lesson 49). rel is nil after a hand-over at once, and for a lost lock.
//
// Of then, HoldEnd runs at once, without being counted in: it may wait in Shutdown
// until nobody is. A call that is counted in itself is within, and has it run
// elsewhere.
func (t *tenure) vacateLocked(within bool) (rel *release, then after) {
	l := t.l
	freed := t.freeLocked()
	reason := EndUnlocked
	if t.revoked {
		reason = EndRevoked
	}
	told := t.endLocked(Ending{Reason: reason})
	if within {
		told = l.s.later(told)
	}
	unguard := t.unguardLocked()
	quit := after(func() {
		unguard.run()
		freed.run()
		told.run()
	})
	if t.lost != nil {
		l.advanceLocked()
		return nil, quit
	}
	for _, r := range l.runs {
		if r.on == t {
			return r.rel, quit // the node is being renewed for those who wait
		}
	}
	head := l.headLocked()
	if head == nil || len(l.runs) > 0 || !t.passes(head) {
		l.advanceLocked()
		rel = &release{done: make(chan struct{})}
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
		t.pub.passLocked(head)
		l.grantLocked(&run{e: t.e, kind: t.kind, w: head, lease: t.lease, reused: true, handoffs: t.handoffs + 1, pub: t.pub})
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
	r := &run{e: t.e, kind: t.kind, cancel: cancel, reused: true, handoffs: t.handoffs + 1, done: make(chan struct{}), pub: t.pub}
	if alone {
		r.handoffs = 0
	}
	l.runs = append(l.runs, r)
	r.standForLocked(l.headLocked())
	l.ref()
	return l.renew(ctx, r, t.lease.Own(), alone)
}

// renew has an entry renewed; own is the watch on its node that is followed
// already.
func (l *lock) renew(ctx context.Context, r *run, own *conn.Watch, alone bool) *release {
	rel := &release{done: make(chan struct{})}
	r.rel = rel
	go l.drive(ctx, r, func(ctx context.Context) error {
		lease, err := r.e.Renew(ctx, alone)
		if w := lease.Own(); err == nil && w != own {
			l.follow(r.e, w)
		}
		r.lease = lease
		if err != nil && ctx.Err() != nil || errors.Is(err, queue.ErrNotAlone) {
			r.owes = true // nobody wants the node any more: its deletion has the answer
			return err
		}
		rel.err = err
		close(rel.done)
		return err
	})
	return rel
}

// remove deletes the node of a tenure that has ended. It is not counted in, since a
// function of the tracer may come before and after it that waits in Shutdown.
func (t *tenure) remove(rel *release) {
	s, tr := t.l.s, t.l.s.cfg.tracer
	t.l.mu.Lock()
	ctx := t.ctx // HoldStart may be running: of those that share, another may give back
	t.l.mu.Unlock()
	started := tr.ReleaseStart == nil
	s.stats.cleanup.Add(1)
	run := func() {
		rel.err = s.remove(t.e)
		s.events.begin()
		defer s.events.end()
		s.deletes(-1)
		if started && tr.ReleaseEnd != nil {
			s.hook(func() { tr.ReleaseEnd(ctx, t.acq, s.verdict(rel.err)) })
		}
		close(rel.done)
	}
	defer func() { // also when the tracer panics
		s.deletes(1)
		go run()
	}()
	if tr.ReleaseStart != nil {
		ctx = tr.ReleaseStart(ctx, t.acq)
		started = true
	}
}

// deletes counts deletions that Shutdown waits for.
func (s *Session) deletes(d int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleting += d; s.deleting == 0 {
		s.wakeLocked()
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
	err := e.Remove()
	if open := e.Open(); len(open) > 0 && !errors.Is(err, conn.ErrClosed) {
		s.logger().Error("zksync: ZooKeeper refuses to tell whether a lock's node was made, which may block the lock until the session ends",
			"node", open[0], "error", err)
		go s.chase(e)
		return err
	}
	s.forget(e, err)
	return err
}

// chase asks again and again what became of an attempt to stand in line that the
// servers refuse to tell of: until they tell, its session is over, or the
// connection is closed.
func (s *Session) chase(e *queue.Entry) {
	tick := time.NewTicker(max(s.conn.Timeout(), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.conn.Life().Done():
			s.cleanup(-1)
			return
		}
		if err := e.Remove(); len(e.Open()) == 0 {
			s.forget(e, err)
			return
		}
	}
}

// forget takes out an entry whose nodes are known to be gone, or that can't be
// deleted. After conn.ErrClosed it stays, for Close to tell of.
func (s *Session) forget(e *queue.Entry, err error) {
	defer s.cleanup(-1)
	switch {
	case errors.Is(err, conn.ErrClosed):
		return
	case err != nil && !errors.Is(err, conn.ErrNodeGone) && !errors.Is(err, conn.ErrSessionOver):
		s.logger().Error("zksync: ZooKeeper refuses to delete a lock's node, which blocks the lock until the session ends",
			"node", e.Last(), "error", err)
	}
	s.mu.Lock()
	delete(s.pending, e)
	s.refused.add(e.Kept())
	s.wakeLocked()
	s.mu.Unlock()
}
