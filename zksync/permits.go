package zksync

import (
	"context"
	"errors"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// What a lock does for permits, beyond what it does for everybody: each call
// stands in line by itself, and is a tenure of its own.

// afterLocked has the nodes of permits made in the order of the calls.
func (l *lock) afterLocked(r *run) func(context.Context) {
	if r.kind != znode.Permit {
		return nil
	}
	before := l.last
	l.last = r
	if before == nil {
		return nil
	}
	return func(ctx context.Context) {
		select {
		case <-before.placed:
		case <-before.done:
		case <-ctx.Done():
		}
	}
}

// withdrawLocked takes the entry of a call out that gives up.
func (l *lock) withdrawLocked(r *run) {
	if r == nil || !l.outLocked(r) {
		return
	}
	r.cancel(errSuperseded)
	l.countLocked(r)
}

// differ tells, once a session and path, that the limits differ.
func (l *lock) differ(w *waiter, smallest int64) {
	if s := l.s; s.differs.first(l.full) {
		s.logger().Warn("zksync: a semaphore is used with different limits: the smallest counts",
			"path", w.acq.Path, "limit", w.limit, "smallest", smallest)
	}
}

// giveBack gives n permits back that were taken without a handle: those that
// were lost first, then the newest. It panics if there are less. It counts the
// caller out.
func (l *lock) giveBack(ctx context.Context, n int64) (err error) {
	l.mu.Lock()
	if l.looseLocked() < n {
		l.mu.Unlock()
		l.leave()
		panic("zksync: released more permits than held")
	}
	var rels []*release
	var then []vacated
	for n > 0 {
		t := l.newestLocked()
		if t.lost != nil {
			err = t.lost
		}
		if t.weight <= n {
			n -= t.weight
			t.plain--
			rel, f := t.vacateLocked(false)
			rels, then = append(rels, rel), append(then, f)
			continue
		}
		t.weight -= n
		n = 0
		if t.lost == nil {
			rel := &release{done: make(chan struct{})}
			rels, then = append(rels, rel), append(then, vacated{freed: l.shrinkLocked(t, rel)})
		}
	}
	l.mu.Unlock()
	l.leave() // before HoldEnd runs
	runAll(then...)
	for _, rel := range rels {
		err = join(err, rel.wait(ctx, l.s))
	}
	return err
}

// looseLocked is the number of permits that were taken without a handle. A permit
// whose call has not returned is nobody's to give back: if the call fails after all,
// it gives back the whole.
func (l *lock) looseLocked() (sum int64) {
	for _, list := range [...][]*tenure{l.debts, l.reads} {
		for _, t := range list {
			if t.plain > 0 && t.taken {
				sum += t.weight
			}
		}
	}
	return sum
}

// newestLocked is the tenure whose permits are given back first.
func (l *lock) newestLocked() *tenure {
	for _, list := range [...][]*tenure{l.debts, l.reads} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].plain > 0 && list[i].taken {
				return list[i]
			}
		}
	}
	return nil
}

// shrinkLocked gives a part of a permit back.
func (l *lock) shrinkLocked(t *tenure, rel *release) after {
	l.ref()
	return func() {
		l.s.stats.cleanup.Add(1)
		l.s.cleanup(0)
		go func() {
			defer l.leave()
			rel.err = t.e.Shrink(t.rest)
			if errors.Is(rel.err, conn.ErrNodeGone) || errors.Is(rel.err, conn.ErrSessionOver) {
				t.lose(rel.err)
				l.mu.Lock()
				rel.err = t.lost // nil: the rest has been given back, which tells
				l.mu.Unlock()
			}
			l.s.cleanup(-1)
			close(rel.done)
		}()
	}
}

// rest is what is left of a permit at this moment: 0 once it is over. Parts are
// given back by several calls at once, which come to the node in any order.
func (t *tenure) rest() int64 {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	if t.over || t.lost != nil {
		return 0
	}
	return t.weight
}

// nothing waits for no permits at all: until those of this session who came
// before have theirs, as in x/sync. It makes no request. On a path that is a lock's,
// or is a Multi's, it is refused, as permits are.
func (l *lock) nothing(ctx context.Context, t *terms, try bool) error {
	w := &waiter{kind: znode.Permit, call: ctx, ready: make(chan struct{})}
	l.mu.Lock()
	for c := l.multi(t); c != nil && !l.s.stopped.Load(); c = l.multi(t) {
		l.mu.Unlock()
		if !c.settles() {
			return c.error
		}
		l.mu.Lock()
	}
	switch {
	case l.s.stopped.Load():
		l.mu.Unlock()
		return ErrClosed
	case !l.idleLocked() && !l.permits:
		l.mu.Unlock()
		return errKind // its line is the lock's: whoever waits for it stands in ZooKeeper's, too
	case l.queue.Len() == 0:
		l.mu.Unlock()
		return nil
	case try:
		l.mu.Unlock()
		return ErrBusy
	}
	w.elem = l.queue.PushBack(w)
	l.mu.Unlock()
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.Remove(w.elem) // if it is there still
	return ctx.Err()
}

// multi returns the conflict of a call for no permits with a Multi. It takes
// Session.mu.
func (l *lock) multi(t *terms) *conflict {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	c, _ := l.multisLocked(t).(*conflict)
	return c
}

// nothingsLocked ends the waits for nothing that are first in line.
func (l *lock) nothingsLocked() {
	for w := l.headLocked(); w != nil && w.kind == znode.Permit && w.weight == 0; w = l.headLocked() {
		l.queue.Remove(w.elem)
		close(w.ready)
	}
}
