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
// goroutine here, or the node is deleted. The place is free here before the
// deletion is sent. That grants nothing twice: whoever is next here stands in
// ZooKeeper's line behind the node, until the node is gone. rel is nil after a
// hand-over at once, and for a lost lock.
//
// Of then, HoldEnd runs without being counted in: it may wait in Shutdown until
// nobody is. A caller that is counted in itself passes within, and HoldEnd runs in
// the events' goroutine.
func (t *tenure) vacateLocked(within bool) (rel *release, then vacated) {
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
	quit := vacated{told: told, freed: func() {
		unguard.run()
		freed.run()
	}}
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
		return rel, t.removal(rel, quit)
	}
	budget := min(t.handoff, head.handoff)
	if t.handoffs >= budget && t.e.Alone(t.lease) {
		t.handoffs = 0 // nobody waits elsewhere: the budget starts anew
	}
	if t.handoffs < budget && t.e.Fit(t.lease) {
		// The hand-over makes no request and wakes one goroutine, however many wait.
		t.pub.passLocked(head)
		l.grantLocked(&run{e: t.e, kind: t.kind, w: head, lease: t.lease, reused: true, handoffs: t.handoffs + 1, pub: t.pub})
		l.advanceLocked()
		return nil, quit
	}
	return l.renewLocked(t, t.handoffs >= budget), quit
}

// renewLocked makes the node of a tenure that has ended fit to serve the next
// one here: it watches the node again and has the session proven alive. If the
// budget of hand-overs is used up (alone), it fails unless nobody else is in
// line: then going to the back of the line would change nothing. Whoever gives the
// lock back waits for the answer as for a deletion's, because the answer says
// whether the lock had been lost before.
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

// vacated is what is left to do for a tenure that has ended in good order: told runs
// functions of the tracer, after freed, and where several have ended after that of
// all. One that waits in Shutdown would wait for those that are not free.
type vacated struct{ freed, told after }

func (v vacated) run() { runAll(v) }

func runAll(all ...vacated) {
	for _, v := range all {
		v.freed.run()
	}
	tellAll(all)
}

func tellAll(all []vacated) {
	if len(all) > 0 {
		defer tellAll(all[1:]) // also when the tracer panics
		all[0].told.run()
	}
}

// removal adds the deletion of the node to what is left to do for a tenure.
//
// Shutdown waits for the deletion, from before the lock leaves the table. The
// deletion waits for HoldEnd and ReleaseStart, which come before it, but not while
// the session shuts down: Close has no time for them, and one of them may be what
// waits in Shutdown.
func (t *tenure) removal(rel *release, quit vacated) vacated {
	s, tr := t.l.s, t.l.s.cfg.tracer
	heard := make(chan struct{})
	var ctx context.Context // ReleaseStart's; before heard is closed
	started := false        // before heard is closed
	run := func() {
		select {
		case <-heard:
		case <-s.over:
		}
		rel.err = s.remove(t.e)
		s.events.begin()
		defer s.events.end()
		s.deletes(-1)
		<-heard
		if started && tr.ReleaseEnd != nil {
			s.hook(func() { tr.ReleaseEnd(ctx, t.acq, s.verdict(rel.err)) })
		}
		close(rel.done)
	}
	return vacated{
		freed: func() {
			s.stats.cleanup.Add(1)
			s.deletes(1)
			go run()
			quit.freed()
		},
		told: func() {
			defer close(heard) // also when the tracer panics
			quit.told.run()
			t.l.mu.Lock()
			ctx = t.ctx // HoldStart may be running: of those that share, another may give back
			t.l.mu.Unlock()
			if tr.ReleaseStart != nil {
				ctx = tr.ReleaseStart(ctx, t.acq)
			}
			started = true
		},
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
