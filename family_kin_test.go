package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// fails checks the error of a call, or of a release.
func (x *exit) fails(t *testing.T, err error, targets ...error) {
	t.Helper()
	switch {
	case !x.bare:
		isError(t, err, targets...)
	case targets[0] == zksync.ErrLost:
		if err != nil { // Release has none
			t.Error(err)
		}
		eventually(t, "the loss is noticed", func() bool { return x.s.Stats().Losses == 1 })
	case targets[0] == zksync.ErrClosed:
		isError(t, err, targets...)
	case err != targets[0]:
		t.Errorf("%v is not ctx.Err()", err)
	}
}

// taking is a call that takes one of the family, ready to be made.
type taking struct {
	name      string
	try, bare bool
	take      func(ctx context.Context) (release func(context.Context) error, err error)
}

// lockTakings are all calls on a lock.
func lockTakings(l zksync.Locker) (all []taking) {
	for _, c := range calls {
		all = append(all, taking{name: c.name, try: c.try, take: func(ctx context.Context) (func(context.Context) error, error) {
			return c.take(ctx, l)
		}})
	}
	return all
}

// some are permits, taken and given back as a lock is.
type some struct {
	*zksync.Semaphore
	n int64
}

func (s some) Lock() {
	if err := s.Acquire(context.Background(), s.n); err != nil {
		panic(err)
	}
}
func (s some) Unlock()                               { s.Release(s.n) }
func (s some) LockContext(ctx context.Context) error { return s.Acquire(ctx, s.n) }
func (s some) UnlockContext(context.Context) error   { s.Release(s.n); return nil }

// permitTakings are all calls that take n permits.
func permitTakings(sem *zksync.Semaphore, n int64) []taking {
	back := func(context.Context) error { sem.Release(n); return nil }
	handle := func(h *zksync.Hold, err error) (func(context.Context) error, error) {
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}
	return []taking{
		{name: "Acquire", bare: true, take: func(ctx context.Context) (func(context.Context) error, error) {
			return back, sem.Acquire(ctx, n)
		}},
		{name: "TryAcquire", bare: true, try: true, take: func(context.Context) (func(context.Context) error, error) {
			if !sem.TryAcquire(n) {
				return nil, errRefused
			}
			return back, nil
		}},
		{name: "Hold", take: func(ctx context.Context) (func(context.Context) error, error) { return handle(sem.Hold(ctx, n)) }},
		{name: "TryHold", try: true, take: func(ctx context.Context) (func(context.Context) error, error) {
			return handle(sem.TryHold(ctx, n))
		}},
		{name: "Do", take: func(ctx context.Context) (func(context.Context) error, error) {
			in, out, res := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() {
				res <- sem.Do(ctx, n, func(context.Context, *zksync.Hold) error { close(in); <-out; return nil })
			}()
			select {
			case err := <-res:
				return nil, err
			case <-in:
				return func(context.Context) error { close(out); return <-res }, nil
			}
		}},
	}
}

// kin are the members of the family: each sets up what is taken on the session
// of x, what keeps that out from the same session, and from another one.
var kin = []struct {
	name string
	set  func(x *exit, other *zksync.Session) []taking
}{
	{"write", func(x *exit, other *zksync.Session) []taking {
		rw := zksync.NewRWMutex(x.s, x.path)
		x.m, x.local, x.blocker = rw, rw, zksync.NewRWMutex(other, x.path)
		return lockTakings(rw)[:3] // the rest is a Mutex's
	}},
	{"write behind a reader", func(x *exit, other *zksync.Session) []taking {
		rw := zksync.NewRWMutex(x.s, x.path)
		x.m, x.local, x.blocker = rw, rw.RLocker(), zksync.NewRWMutex(other, x.path).RLocker()
		return lockTakings(rw)[:1] // the rest is as above
	}},
	{"read", func(x *exit, other *zksync.Session) []taking {
		rw := zksync.NewRWMutex(x.s, x.path)
		x.m, x.local, x.blocker = rw.RLocker(), rw, zksync.NewRWMutex(other, x.path)
		return lockTakings(rw.RLocker())
	}},
	{"multi", func(x *exit, other *zksync.Session) []taking {
		more := x.path + "-more"
		x.more = []string{more}
		open := func(s *zksync.Session) zksync.Locker {
			return zksync.NewMulti(zksync.NewMutex(s, x.path), zksync.NewRWMutex(s, more).RLocker())
		}
		m := open(x.s)
		x.m, x.local, x.blocker = m, m, open(other)
		return lockTakings(m)
	}},
	{"permits", func(x *exit, other *zksync.Session) []taking {
		sem := zksync.NewSemaphore(x.s, x.path, 3)
		x.m, x.local, x.blocker = some{sem, 2}, some{sem, 3}, some{zksync.NewSemaphore(other, x.path, 3), 2}
		return permitTakings(sem, 2)
	}},
}
