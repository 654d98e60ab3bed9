package zksync

import (
	"context"
	"errors"
	"fmt"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Semaphore bounds how much of something all the programs that use its path take
// at once. Acquire, TryAcquire and Release are those of semaphore.Weighted in
// golang.org/x/sync, with the same meanings; Hold, TryHold and Do give permits
// that can be looked at.
//
// Permits are granted all or none, first come first served: a call that does not
// fit holds up those behind it, so that large ones don't starve. The limit is in
// the name of each node: where programs use different ones, the smallest of
// those in line up to a call counts for it, and that is logged once; see
// WithStrictLimit.
//
// Permits can be lost, as a Mutex can: see ErrLost. Owners are ignored, nothing
// is re-entered, and no other library shares the path. A path is a semaphore's or
// a lock's: while a session uses it as the one, the other is an error.
//
// Get one from NewSemaphore: the zero value is not usable, and its methods panic.
// A Semaphore must not be copied; two for the same path on one session share
// their permits. Its methods may be called by several goroutines.
type Semaphore struct {
	m     Mutex
	limit int64
}

// NewSemaphore returns the semaphore of a path on a session, with n permits in
// all. It makes no request; see NewMutex. It panics if s is nil or n negative.
func NewSemaphore(s *Session, path string, n int64, opts ...LockOption) *Semaphore {
	if s == nil {
		panic("zksync: NewSemaphore with a nil Session")
	}
	if n < 0 {
		panic("zksync: NewSemaphore with a negative limit")
	}
	sem := &Semaphore{limit: n}
	sem.m.init(s, path, ModePermit, znode.Permit, opts)
	return sem
}

func (sem *Semaphore) check(n int64) {
	if sem == nil || sem.m.s == nil {
		panic("zksync: use of zero Semaphore")
	}
	if n < 0 {
		panic("zksync: negative number of permits")
	}
}

// Path returns the path as it was given to NewSemaphore.
func (sem *Semaphore) Path() string {
	sem.check(0)
	return sem.m.path
}

// Acquire waits for n permits until ctx is done. Then it returns ctx.Err()
// itself, and nothing is left behind. A ctx that is done already never gets any.
// More than the limit wait for ctx without holding up others; 0 wait for those of
// this session that came before, and cost nothing. Other errors are an *Error:
// ErrClosed, ErrLimitMismatch, what ZooKeeper refuses, and, for n from 0 up to the
// limit, that the session has the path in use for a lock, be it as a part of a Multi.
// It panics if n is negative.
func (sem *Semaphore) Acquire(ctx context.Context, n int64) error {
	err := sem.acquire(ctx, "acquire", &waiter{weight: n})
	if e := ctx.Err(); e != nil && errors.Is(err, e) {
		return e
	}
	return err
}

// TryAcquire takes n permits if they can be had now and nobody waits. It is false
// while disconnected, and after a third of the session timeout without an answer.
// It panics if n is negative.
func (sem *Semaphore) TryAcquire(n int64) bool {
	sem.check(n)
	ctx, cancel := sem.m.brief(context.Background())
	defer cancel()
	return sem.acquire(ctx, "try", &waiter{weight: n, now: true, acq: Acquire{Try: true}}) == nil
}

// Release gives n permits back that Acquire or TryAcquire took: those that were
// lost first, then the newest; never those of a Hold. It waits at most a third of
// the session timeout until that is confirmed. It panics if there are less, or n
// is negative.
func (sem *Semaphore) Release(n int64) {
	sem.check(n)
	if n == 0 {
		return
	}
	ctx, cancel := sem.m.brief(context.Background())
	defer cancel()
	l := sem.m.s.find(sem.m.full)
	if l == nil {
		panic("zksync: released more permits than held")
	}
	if err := l.giveBack(ctx, n); errors.Is(err, ErrLost) {
		sem.m.s.logger().Error("zksync: permits had been lost before their Release", "path", sem.m.path, "error", err)
	}
}

// Hold waits for n permits, as Acquire does, and returns a handle that knows
// their loss. Only the handle gives them back, all at once. Every error is an
// *Error. Its fence orders arrivals and no more: several hold at a time.
func (sem *Semaphore) Hold(ctx context.Context, n int64) (*Hold, error) {
	w := &waiter{weight: n, hold: true}
	err := sem.acquire(ctx, "hold", w)
	return w.handle, err
}

// TryHold is Hold without a wait: ErrBusy when the permits can't be had now.
func (sem *Semaphore) TryHold(ctx context.Context, n int64) (*Hold, error) {
	w := &waiter{weight: n, hold: true, acq: Acquire{Try: true}}
	err := sem.acquire(ctx, "try", w)
	return w.handle, err
}

// Do holds n permits while fn runs; see Locker. fn's context ends with ctx, and
// when the permits are lost.
func (sem *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context, h *Hold) error) error {
	w := &waiter{weight: n, hold: true}
	if err := sem.acquire(ctx, "do", w); err != nil {
		return err
	}
	return sem.m.work(ctx, w.handle, fn)
}

func (sem *Semaphore) acquire(ctx context.Context, op string, w *waiter) error {
	sem.check(w.weight)
	w.limit = sem.limit
	return sem.m.acquire(ctx, op, w)
}

var errNoPermits = errors.New("a hold of no permits: want 1 or more")

// apart is a call that does not stand in line: for no permits, or for more than
// there are.
func (m *Mutex) apart(w *waiter) error {
	switch ctx := w.call; {
	case ctx.Err() != nil:
		return ctxErr(ctx)
	case w.weight == 0 && w.hold:
		return errNoPermits
	case w.weight == 0:
		l := m.s.enter(m.path, m.full)
		defer l.leave()
		return l.nothing(ctx, w.terms, w.acq.Try)
	case w.acq.Try:
		return ErrBusy
	}
	select {
	case <-w.call.Done():
		return fmt.Errorf("%d of %d permits: %w", w.weight, w.limit, ctxErr(w.call))
	case <-m.s.over:
		return ErrClosed
	}
}
