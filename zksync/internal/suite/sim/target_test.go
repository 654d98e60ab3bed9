package sim

import (
	"context"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// seat is one lock of a call, and what for.
type seat struct {
	path  string
	mode  string
	nodes []string // of a claim: its node, or those that may be it
}

// want is what a call asks for.
type want struct {
	p      *process
	seats  []seat
	weight int64
	owner  string          // whose name is known
	since  time.Time       // it waits
	ctx    context.Context // of the call, while it waits
	node   string          // kazoo's own
}

func (x want) on(path string) (mode string, ok bool) {
	for _, s := range x.seats {
		if s.path == path {
			return s.mode, true
		}
	}
	return "", false
}

// lock is what a worker does with a lock, whichever it is: a zksync.Locker, or
// permits.
type lock interface {
	Lock()
	TryLock() bool
	LockContext(context.Context) error
	UnlockContext(context.Context) error
	Hold(context.Context) (*zksync.Hold, error)
	TryHold(context.Context) (*zksync.Hold, error)
	Do(context.Context, func(context.Context, *zksync.Hold) error) error
}

// permits are so many of a semaphore.
type permits struct {
	*zksync.Semaphore
	n int64
}

func (p permits) Lock() {
	if err := p.Acquire(context.Background(), p.n); err != nil {
		panic(err)
	}
}
func (p permits) TryLock() bool                         { return p.TryAcquire(p.n) }
func (p permits) LockContext(ctx context.Context) error { return p.Acquire(ctx, p.n) }
func (p permits) UnlockContext(context.Context) error   { p.Release(p.n); return nil }

func (p permits) Hold(ctx context.Context) (*zksync.Hold, error) { return p.Semaphore.Hold(ctx, p.n) }
func (p permits) TryHold(ctx context.Context) (*zksync.Hold, error) {
	return p.Semaphore.TryHold(ctx, p.n)
}

func (p permits) Do(ctx context.Context, fn func(context.Context, *zksync.Hold) error) error {
	return p.Semaphore.Do(ctx, p.n, fn)
}

// locker is the lock of a path for a mode.
func (k *worker) locker(path, mode string, opts ...zksync.LockOption) zksync.Locker {
	s := k.p.s.Load()
	switch mode {
	case asWriter:
		return zksync.NewRWMutex(s, path, opts...)
	case asReader:
		return zksync.NewRWMutex(s, path, opts...).RLocker()
	}
	if k.p.w.kind == "kazoo" {
		opts = append(opts, zksync.WithKazooName())
	}
	return zksync.NewMutex(s, path, opts...)
}

// target is the lock of a step. all is nil for permits.
func (k *worker) target(o op) (x want, m lock, all zksync.Locker) {
	w := k.p.w
	x.p = k.p
	path := w.paths[o.path]
	switch o.on {
	case asPermit:
		x.seats, x.weight = []seat{{path: path, mode: asPermit}}, o.weight
		return x, permits{zksync.NewSemaphore(k.p.s.Load(), path, w.limitOf(o.path, k.p.slot)), o.weight}, nil
	case "multi":
		var locks []zksync.Locker
		for _, part := range o.parts {
			x.seats = append(x.seats, seat{path: w.paths[part.path], mode: part.on})
			locks = append(locks, k.locker(w.paths[part.path], part.on))
		}
		all = zksync.NewMulti(locks...)
	default:
		mode := o.on
		if mode == "" {
			mode = asMutex
		}
		x.seats = []seat{{path: path, mode: mode}}
		all = k.locker(path, mode, zksync.WithLinger(o.linger))
	}
	if o.named {
		x.owner = k.newName()
		all = all.As(zksync.NewOwner(x.owner))
	}
	return x, all, all
}
