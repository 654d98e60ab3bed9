package zksync

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/defect"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// stand puts an entry in ZooKeeper's queue for w.
func (l *lock) stand(w *waiter) {
	s := l.s
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &run{w: w, cancel: cancel, placed: make(chan struct{}), done: make(chan struct{})}
	r.e = queue.New(s.conn, queue.Order{
		Places:  []queue.Place{{Parent: l.full, Kind: znode.Exclusive, Rule: queue.First}},
		Data:    s.payload(w),
		ACL:     l.acl,
		Try:     w.acq.Try,
		Fence:   w.hold,
		Blocked: func(b queue.Blocker) { l.tell(r, b) },
		Placed:  sync.OnceFunc(func() { close(r.placed) }),
	})
	s.track(r.e)
	l.run = r
	l.ref()
	go l.drive(ctx, r, r.e.Stand)
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
	if errors.Is(err, errSuperseded) && defect.On(defect.ForgottenDelete) {
		l.s.cleanup(-1) // advanceLocked has counted it
		return
	}
	l.mu.Lock()
	l.countLocked(r)
	l.mu.Unlock()
	go func() {
		err := l.s.remove(r.e)
		if r.rel != nil {
			r.rel.err = err
			close(r.rel.done)
		}
		close(removed)
	}()
	brief(removed)
	l.mu.Lock()
	if l.run == r {
		l.run = nil
		if w := l.headLocked(); err != nil && !r.reused && w != nil {
			l.failLocked(w, l.s.mapErr(context.Background(), err))
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
	if l.run == r {
		l.run = nil
		l.advanceLocked()
		next = l.run
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
	if l.run != r {
		l.mu.Unlock()
		return false
	}
	if t := l.ten; t != nil && t.lost == nil {
		// Two can't be first: the node of the tenure is gone. Its holder is
		// told before there is another one.
		ended := t.loseLocked(conn.ErrNodeGone)
		l.mu.Unlock()
		ended.run()
		return l.give(r)
	}
	w := l.headLocked()
	ok := l.ten == nil && w != nil && r.serves(w)
	if ok {
		l.run = nil
		l.grantLocked(w, r)
		l.advanceLocked()
	}
	l.mu.Unlock()
	return ok
}

// after is what is left to do once lock.mu is free; nil is nothing.
type after func()

func (a after) run() {
	if a != nil {
		a()
	}
}

// grantLocked gives the lock to w, the first waiter, on the entry of r.
func (l *lock) grantLocked(w *waiter, r *run) {
	l.queue.Remove(w.elem)
	t := &tenure{
		l: l, e: r.e, lease: r.lease, handoffs: r.handoffs, handoff: w.handoff,
		owner: w.owner, acq: w.acq, asked: w.ctx, ctx: w.ctx, start: time.Now(),
	}
	l.ten = t
	l.ref() // for the tenure
	l.s.stats.held.Add(1)
	l.s.stats.acquired.Add(1)
	if r.reused {
		l.s.stats.handoffs.Add(1)
	}
	w.ten, w.handed = t, r.reused
	if w.hold {
		w.handle = t.openLocked()
	} else {
		t.plain = 1
	}
	close(w.ready)
}

// failLocked ends the call of w, the first waiter, with err.
func (l *lock) failLocked(w *waiter, err error) {
	l.noteLocked(w)
	l.queue.Remove(w.elem)
	w.err = err
	close(w.ready)
}
