package zksync

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// stand puts an entry in ZooKeeper's queue for w.
func (l *lock) stand(w *waiter) {
	s := l.s
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &run{w: w, kind: w.kind, cancel: cancel, placed: make(chan struct{}), done: make(chan struct{})}
	writes := s.mayWrite(l.acl)
	by, says := s.payload(w, writes)
	r.fixed = !writes && (!by.owner.IsZero() || by.trace != "")
	r.e = queue.New(s.conn, queue.Order{
		Places:  l.placesOf(l.full, w),
		Data:    says,
		After:   l.afterLocked(r),
		Strict:  w.strict,
		Limits:  func(smallest int64) { l.differ(w, smallest) },
		Strange: s.strange,
		Stays:   s.stays,
		ACL:     l.acl,
		Try:     w.acq.Try,
		Fence:   w.hold,
		Blocked: func(b queue.Blocker) { l.tell(r, b) },
		Placed:  sync.OnceFunc(func() { close(r.placed) }),
	})
	if writes && says != nil {
		r.pub = &published{l: l, e: r.e, serves: by}
	}
	s.track(r.e)
	l.runs = append(l.runs, r)
	l.ref()
	go l.drive(ctx, r, r.e.Stand)
}

// place is where and how a node of a kind stands.
func place(parent string, kind znode.Kind) queue.Place {
	p := queue.Place{Parent: parent, Kind: kind, Rule: queue.First}
	switch kind {
	case znode.Read:
		p.Rule = queue.NoWriter
	case znode.Permit:
		p.Rule = queue.Fits
	}
	return p
}

// outLocked takes an entry out of those that stand in line, and reports whether
// it was one.
func (l *lock) outLocked(r *run) bool {
	i := slices.Index(l.runs, r)
	if i >= 0 {
		l.runs = slices.Delete(l.runs, i, i+1)
	}
	return i >= 0
}

// drive runs an entry until it is its turn, and gives it to the first waiter.
func (l *lock) drive(ctx context.Context, r *run, step func(context.Context) error) {
	defer l.leave()
	defer close(r.done)
	err := step(ctx)
	r.cancel(nil)
	if err == nil && l.give(r) {
		return
	}
	if errors.Is(err, queue.ErrNotAlone) {
		l.requeue(r)
	}
	removed := make(chan struct{})
	l.mu.Lock()
	if t := r.on; t != nil && (!t.over || t.lost != nil) {
		// The entry is a tenure's still, or goes with its loss.
		var x loss
		t.exposed = true // nobody else is to try
		if errors.Is(err, conn.ErrNodeGone) || errors.Is(err, conn.ErrSessionOver) {
			x = t.loseLocked(err)
		}
		if l.outLocked(r) {
			l.advanceLocked()
		}
		l.mu.Unlock()
		x.run()
		return
	}
	l.countLocked(r)
	l.mu.Unlock()
	go func() {
		err := l.s.remove(r.e)
		if r.owes {
			r.rel.err = err
			close(r.rel.done)
		}
		close(removed)
	}()
	brief(removed)
	l.mu.Lock()
	if l.outLocked(r) {
		if err != nil && !r.reused {
			err = l.s.mapErr(context.Background(), err)
			l.eachLocked(r.w, func(w *waiter) { l.failLocked(w, err) })
		}
		l.advanceLocked()
	}
	l.mu.Unlock()
	<-removed
}

// requeue puts the session at the back of the line before it leaves the front:
// otherwise the next session might find itself alone meanwhile, and hand the
// lock over to its own for longer than it may.
func (l *lock) requeue(r *run) {
	l.mu.Lock()
	var next *run
	if l.outLocked(r) {
		l.advanceLocked()
		next = l.runLocked(r.w)
	}
	l.mu.Unlock()
	if next != nil {
		select {
		case <-next.placed:
		case <-next.done:
		}
	}
}

// give grants the lock to the first waiter, on an entry whose turn it is. It
// reports false if there is nobody any more whom the entry may serve.
func (l *lock) give(r *run) bool {
	l.mu.Lock()
	if !slices.Contains(l.runs, r) {
		l.mu.Unlock()
		return false
	}
	if t := l.contradictedLocked(r); t != nil {
		// Two can't be first: the node of the tenure is gone. Its holder is
		// told before there is another one.
		x := t.loseLocked(conn.ErrNodeGone)
		l.mu.Unlock()
		x.run()
		return l.give(r)
	}
	ok := l.ten == nil && (r.on == nil || r.on.lost == nil)
	if ok {
		l.outLocked(r)
		l.grantLocked(r)
		l.advanceLocked()
	}
	l.mu.Unlock()
	return ok
}

// contradictedLocked returns a tenure that can't hold any more, since it is the
// turn of r.
func (l *lock) contradictedLocked(r *run) *tenure {
	switch {
	case l.ten != nil && l.ten.lost == nil:
		return l.ten
	case r.kind != znode.Read && r.kind != znode.Permit && len(l.reads) > 0:
		return l.reads[0]
	}
	return nil
}

// after is what is left to do once lock.mu is free; nil is nothing.
type after func()

func (a after) run() {
	if a != nil {
		a()
	}
}

// grantLocked gives the lock to those whom the entry stands for.
func (l *lock) grantLocked(r *run) {
	t := r.on
	if t == nil || t.over {
		t = l.newHolderLocked(r.w, r)
		t.weight = r.w.weight
	}
	t.lease = r.lease // the newest
	l.eachLocked(r.w, func(w *waiter) {
		l.queue.Remove(w.elem)
		t.admitLocked(w, r.reused)
		close(w.ready)
	})
}

// newHolderLocked makes a tenure for the call of w, on the entry of r.
func (l *lock) newHolderLocked(w *waiter, r *run) *tenure {
	t := &tenure{
		l: l, e: r.e, kind: w.kind, lease: r.lease, handoffs: r.handoffs, handoff: w.handoff,
		owner: w.owner, acq: w.acq, trace: w.trace, ctx: w.ctx, start: time.Now(), pub: r.pub,
	}
	if t.kind == znode.Read || t.kind == znode.Permit {
		t.shared = w.shares()
		l.reads = append(l.reads, t)
	} else {
		l.ten = t
	}
	l.ref() // for the tenure
	l.s.stats.held.Add(1)
	return t
}

// admitLocked adds the level of w to the tenure.
func (t *tenure) admitLocked(w *waiter, handed bool) {
	stats := &t.l.s.stats
	stats.acquired.Add(1)
	if handed {
		stats.handoffs.Add(1)
		if t.shared {
			t.handoffs++
		}
	}
	w.ten, w.handed = t, handed
	if w.hold {
		w.handle = t.openLocked()
	} else {
		t.plain++
	}
}

// failLocked ends the call of w with err.
func (l *lock) failLocked(w *waiter, err error) {
	l.noteLocked(w)
	l.queue.Remove(w.elem)
	w.err = err
	close(w.ready)
}
