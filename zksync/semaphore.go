package zksync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Semaphore bounds how much of something all the programs that use its path take
// at once. Acquire, TryAcquire and Release are the methods of semaphore.Weighted in
// golang.org/x/sync, with the same meanings. Hold, TryHold and Do give permits with
// a handle.
//
// Permits are granted all or none, first come first served: a call that does not
// fit holds up the calls behind it, so that large ones don't starve. The limit is in
// the name of each node. Where programs use different limits, the smallest of those
// in line up to a call counts for that call, and this is logged once; see
// WithStrictLimit.
//
// Permits can be lost, as a Mutex can: see ErrLost. Owners are ignored, nothing is
// re-entrant, and no other library shares the path. A path belongs to a semaphore or
// to a lock: while a session uses it as the one, use as the other is an error. A call that
// finds nodes of the other kind before its own fails with an error that names both, and
// leaves those nodes alone. The call that came first goes on.
//
// Get one from NewSemaphore: the zero value is not usable, and its methods panic. A
// Semaphore must not be copied. Two for the same path on one session share their
// permits. Its methods may be called by several goroutines.
type Semaphore struct {
	m     Mutex
	limit int64
}

// NewSemaphore returns the semaphore of a path on a session, with n permits in
// all. It makes no request: an invalid path (ErrInvalidPath), or an option that makes
// no sense, is reported when the semaphore is used. It panics if s is nil or n is
// negative.
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

// Acquire waits until it has n permits, or until ctx is done: then it returns
// ctx.Err() itself. A ctx that is done already never gets any. A call for more than
// the limit waits for ctx and holds up nobody; a call for none waits for those of
// this session that came before, and costs nothing. Release gives permits back.
//
// Every other error is an *Error. It Is ErrClosed after Close or Shutdown,
// ErrInvalidPath, ErrLimitMismatch with WithStrictLimit, ErrSequenceExhausted,
// ErrNoAuth or another refusal of the servers, or tells that the options make no
// sense or contradict those of another value in use for the path, or that the path is
// used for a lock: by the session, alone or as a part of a Multi (not if n is above the
// limit), or by another session whose node was there before. A call that fails takes no permit and leaves nothing behind: a node that
// can't be deleted at once is deleted in the background. Acquire panics if n is
// negative.
func (sem *Semaphore) Acquire(ctx context.Context, n int64) error {
	sem.check(n)
	c := sem.m.newCall(ctx)
	err := sem.acquire(ctx, "acquire", c, n)
	if err == nil {
		c.recycle()
	}
	if e := ctx.Err(); e != nil && errors.Is(err, e) {
		return e
	}
	return err
}

// TryAcquire takes n permits if they are free and nobody waits, and reports whether it
// did. It returns false also while disconnected, after a third of the session timeout
// without an answer, and on every error, which is logged unless others have the permits.
// It takes no permit then, and a node that it
// has made is deleted, in the background if need be. It panics if n is negative.
func (sem *Semaphore) TryAcquire(n int64) bool {
	sem.check(n)
	ctx, cancel := sem.m.brief(context.Background())
	defer cancel()
	return sem.m.s.tried(sem.acquire(ctx, "try", (&call{now: true}).tries(), n))
}

// Release gives n permits back that Acquire or TryAcquire took: those that were lost
// first, then the newest, and never those of a Hold. It panics if fewer than n are held,
// or if n is negative.
//
// Release returns once the requests have been sent: the next call of this session finds
// the permits released, but another session may be refused for that moment. Take a Hold,
// whose Release has a result, to know. The requests are followed in the background until
// their work is done. If some of the permits had been lost, that is logged. Release waits
// when and for as long as the Unlock of a Mutex does, and for an earlier Release of a part
// of the same permits: for a third of the session timeout at most.
func (sem *Semaphore) Release(n int64) {
	sem.check(n)
	if n == 0 {
		return
	}
	s, limit := sem.m.s, time.Now().Add(sem.m.s.Timeout()/3)
	var one [1]local.Back // most often the permits are of one call
	all := sem.giveBack(n, one[:0])
	for _, b := range all {
		if b.Deletion != nil {
			s.follow(b, sem.hadLost)
		}
	}
	for _, b := range all {
		if b.Lost != nil && !closed(b.Lost) {
			sem.hadLost(b.Lost) // one loss stands for all
			break
		}
	}
	s.sent(limit, all...)
}

// hadLost logs that permits had been lost before their Release.
func (sem *Semaphore) hadLost(err error) {
	sem.m.s.logger().Error("zksync: permits had been lost before their Release", "path", sem.m.path, "error", err)
}

// Hold waits until it has n permits, or until ctx is done, and returns a handle that
// knows their loss. Only the handle's Release gives them back, all at once. Its fence
// only orders arrivals, because several calls hold permits at a time.
//
// The errors are those of Acquire, each as an *Error: when ctx is done first, it Is
// ctx.Err() and context.Cause(ctx), and says where in line the call stood. n = 0 is
// an error. A call that fails returns no handle, takes no permit and leaves nothing
// behind: a node that can't be deleted at once is deleted in the background. It panics
// if n is negative.
func (sem *Semaphore) Hold(ctx context.Context, n int64) (*Hold, error) {
	c := holdCall()
	err := sem.acquire(ctx, "hold", c, n)
	return c.hold, err
}

// TryHold takes n permits if they are free and nobody waits, and returns a handle as
// Hold does; otherwise the error Is ErrBusy. It waits for a connection and for
// answers, until ctx is done. The other errors are those of Hold, and one that says
// that the call's node was deleted twice while it looked. A call that fails leaves
// nothing behind, as with Hold. It panics if n is negative.
func (sem *Semaphore) TryHold(ctx context.Context, n int64) (*Hold, error) {
	c := holdCall().tries()
	err := sem.acquire(ctx, "try", c, n)
	return c.hold, sem.m.whoElse(ctx, err)
}

// Do waits for n permits until ctx is done, and holds them while fn runs. fn gets the
// handle and a context that ends with ctx, with a loss of the permits, and with
// WithCancelOnRevoke when they are asked back.
//
// Do returns fn's error, joined with ErrLost if the permits were lost, whatever fn
// returned. An error of fn is also joined with ErrRevoked if they were asked back; nil stays nil. If they can't be had, fn does not run, and the error is one of Hold's;
// nothing is left behind. If fn panics the permits are released first. Do waits at
// most a third of the session timeout for the confirmation of the release; after that
// the deletion goes on in the background, and that is no error. It panics if n is
// negative.
func (sem *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context, h *Hold) error) error {
	c := holdCall()
	if err := sem.acquire(ctx, "lock", c, n); err != nil {
		return err
	}
	return sem.m.work(ctx, c.hold, fn)
}

// TryDo runs fn with n permits as Do does, if they are free and nobody waits, and reports
// whether fn ran: false without an error means that others have them. It waits for a
// connection and for answers, until ctx is done.
//
// If fn ran, the error is one of Do's. If it did not, the error is one of TryHold's but
// ErrBusy, and nothing is left behind. It panics if n is negative.
func (sem *Semaphore) TryDo(ctx context.Context, n int64, fn func(ctx context.Context, h *Hold) error) (ran bool, err error) {
	c := holdCall().tries()
	if err := sem.acquire(ctx, "try", c, n); err != nil {
		return false, notBusy(err)
	}
	return true, sem.m.work(ctx, c.hold, fn)
}

func (sem *Semaphore) acquire(ctx context.Context, op string, c *call, n int64) error {
	sem.check(n)
	c.Weight, c.Limit = n, sem.limit
	return sem.m.acquire(ctx, op, c)
}

// giveBack gives n permits back, and appends the results to all. It panics if there are
// less.
func (sem *Semaphore) giveBack(n int64, all []local.Back) []local.Back {
	l := sem.m.s.table.Find(sem.m.full)
	if l == nil {
		panic("zksync: released more permits than held")
	}
	all, err := func() ([]local.Back, error) {
		defer l.Leave()
		return l.GiveBack(n, all)
	}()
	if err != nil {
		panic("zksync: released more permits than held")
	}
	last := len(all) - 1
	for last > 0 && !all[last].Deletes() {
		last--
	}
	runAll(all, last)
	return all
}

// runAll reports all ends to the tracer, even if one of the reports panics. It waits until
// the deletion with the index last has been written: those before it are ahead of it on the
// connection. To wait for each would take T/3 each time where writes hang.
func runAll(all []local.Back, last int) {
	if len(all) == 0 {
		return
	}
	defer runAll(all[1:], last-1)
	if last == 0 {
		all[0].Run(conn.Wait)
	} else {
		all[0].Run(conn.Later)
	}
}

var errNoPermits = errors.New("a hold of no permits: want 1 or more")

// apart returns the error of a call that does not stand in line, because it asks for a
// hold of no permits or for more permits than there are.
func (m *Mutex) apart(c *call) error {
	switch {
	case c.Ctx.Err() != nil:
		return ctxErr(c.Ctx)
	case c.Weight == 0:
		return errNoPermits
	case c.Try:
		return ErrBusy
	}
	select {
	case <-c.Ctx.Done():
		return fmt.Errorf("%d of %d permits: %w", c.Weight, c.Limit, ctxErr(c.Ctx))
	case <-m.s.table.Stopped():
		return ErrClosed
	}
}
