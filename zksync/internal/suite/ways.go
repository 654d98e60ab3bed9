package suite

import (
	"context"

	"github.com/zklocker/go-zksync/zksync"
)

// LockWay is a way to wait for a lock; it returns what gives it back.
type LockWay func(ctx context.Context, m *zksync.Mutex) (free func() error, err error)

// LockWays are the ways there are.
var LockWays = map[string]LockWay{
	"Lock": func(_ context.Context, m *zksync.Mutex) (func() error, error) {
		m.Lock()
		return func() error { m.Unlock(); return nil }, nil
	},
	"LockContext": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		return func() error { return m.UnlockContext(ctx) }, m.LockContext(ctx)
	},
	"Hold": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		h, err := m.Hold(ctx)
		return func() error { return h.Release(ctx) }, err
	},
}

// Permits are permits, taken and given back as a lock is.
type Permits struct {
	*zksync.Semaphore
	N int64
}

func (s Permits) Lock() {
	if err := s.Acquire(context.Background(), s.N); err != nil {
		panic(err)
	}
}

func (s Permits) Unlock() { s.Release(s.N) }

func (s Permits) LockContext(ctx context.Context) error { return s.Acquire(ctx, s.N) }

func (s Permits) UnlockContext(context.Context) error { s.Release(s.N); return nil }

// Calls are the ways to take a lock that have an error. Each gives the lock
// back if it gets it.
var Calls = []struct {
	Name string
	Hold bool
	Try  bool
	Take func(ctx context.Context, l zksync.Locker) (release func(context.Context) error, err error)
}{
	{Name: "LockContext", Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		return l.UnlockContext, l.LockContext(ctx)
	}},
	{Name: "TryLockContext", Try: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		got, err := l.TryLockContext(ctx)
		if !got && err == nil {
			err = ErrRefused
		}
		return l.UnlockContext, err
	}},
	{Name: "Hold", Hold: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		h, err := l.Hold(ctx)
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}},
	{Name: "TryHold", Hold: true, Try: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		h, err := l.TryHold(ctx)
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}},
	{Name: "Do", Hold: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		in, out, res := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			res <- l.Do(ctx, func(context.Context, *zksync.Hold) error { close(in); <-out; return nil })
		}()
		select {
		case err := <-res:
			return nil, err
		case <-in:
			return func(context.Context) error { close(out); return <-res }, nil
		}
	}},
}
