package suite

import (
	"context"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// A Way is a method that takes a lock.
type Way struct {
	Name string
	Hold bool // opens a handle
	Try  bool // does not wait
	// Take takes a lock, and returns what gives it back.
	Take func(ctx context.Context, l zksync.Locker) (release func(context.Context) error, err error)
}

// Lock takes a lock; what gives it back has the same context.
func (w Way) Lock(ctx context.Context, l zksync.Locker) (free func() error, err error) {
	release, err := w.Take(ctx, l)
	return func() error { return release(ctx) }, err
}

// Ways are all methods of a [zksync.Locker] that take it. [Kinds] are what they take.
var Ways = []Way{
	{Name: "Lock", Take: func(_ context.Context, l zksync.Locker) (func(context.Context) error, error) {
		l.Lock()
		return func(context.Context) error { l.Unlock(); return nil }, nil
	}},
	{Name: "TryLock", Try: true, Take: func(_ context.Context, l zksync.Locker) (func(context.Context) error, error) {
		if !l.TryLock() {
			return nil, ErrRefused
		}
		return func(context.Context) error { l.Unlock(); return nil }, nil
	}},
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
		return handle(l.Hold(ctx))
	}},
	{Name: "TryHold", Hold: true, Try: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		return handle(l.TryHold(ctx))
	}},
	{Name: "Do", Hold: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		return do(func(f func(context.Context, *zksync.Hold) error) error { return l.Do(ctx, f) })
	}},
	{Name: "TryDo", Hold: true, Try: true, Take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		return do(func(f func(context.Context, *zksync.Hold) error) error { return ran(l.TryDo(ctx, f)) })
	}},
}

// ran is the error of a TryDo, or that its function did not run.
func ran(ran bool, err error) error {
	if !ran && err == nil {
		return ErrRefused
	}
	return err
}

func handle(h *zksync.Hold, err error) (func(context.Context) error, error) {
	if err != nil {
		return nil, err
	}
	return h.Release, nil
}

// do runs a Do in a goroutine, in which it stays until it is to give the lock back.
func do(run func(func(context.Context, *zksync.Hold) error) error) (func(context.Context) error, error) {
	in, out, res := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		res <- run(func(context.Context, *zksync.Hold) error { close(in); <-out; return nil })
	}()
	select {
	case err := <-res:
		return nil, err
	case <-in:
		return func(context.Context) error { close(out); return <-res }, nil
	}
}

// Calls are the ways that have an error, and take a context.
var Calls = Ways[2:]

// WaysNamed are those with the names.
func WaysNamed(names ...string) (all []Way) {
	for _, w := range Ways {
		if slices.Contains(names, w.Name) {
			all = append(all, w)
		}
	}
	if len(all) != len(names) {
		panic("zksync: no such ways")
	}
	return all
}

// Waiting are the ways to wait for a lock.
var Waiting = WaysNamed("Lock", "LockContext", "Hold")

// LockContext is the way of that name.
var LockContext = WaysNamed("LockContext")[0]

// Permits are permits, taken and given back as a lock is.
type Permits struct {
	*zksync.Semaphore
	N int64
	S *zksync.Session // the semaphore's; nil: UnlockContext does not wait for the confirmation
}

// Lock takes the permits.
func (s Permits) Lock() {
	if err := s.Acquire(context.Background(), s.N); err != nil {
		panic(err)
	}
}

// Unlock gives the permits back.
func (s Permits) Unlock() { s.Release(s.N) }

// LockContext takes the permits.
func (s Permits) LockContext(ctx context.Context) error { return s.Acquire(ctx, s.N) }

// UnlockContext gives the permits back, and waits for the confirmation: for a third of
// the session timeout at most.
func (s Permits) UnlockContext(ctx context.Context) error {
	s.Release(s.N)
	if s.S == nil {
		return nil
	}
	for limit := time.Now().Add(s.S.Timeout() / 3); s.S.Stats().CleanupPending > 0 && ctx.Err() == nil && time.Now().Before(limit); {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// A Taking is a way to take a subject.
type Taking struct {
	Name string
	Try  bool
	Bare bool // permits without a handle, whose errors are x/sync's
	Take func(ctx context.Context, s Subject) (release func(context.Context) error, err error)
}

// A Subject is a lock or permits on one session, and what keeps them out.
type Subject struct {
	Lock    Lockable
	Local   Lockable // what keeps it out within its session
	Blocker Lockable // what keeps it out from another session
	Paths   []string
}

// A Kind is something that can be taken.
type Kind struct {
	Name    string
	Takings []Taking
	// New makes a subject on a session, and its blocker on another.
	New func(s, other *zksync.Session, path string) Subject
}

// Kinds are all that can be taken.
var Kinds = []Kind{
	{"mutex", takings(Calls), func(s, other *zksync.Session, path string) Subject {
		m := zksync.NewMutex(s, path)
		return Subject{m, m, zksync.NewMutex(other, path), []string{path}}
	}},
	{"write", takings(Calls[:3]), func(s, other *zksync.Session, path string) Subject { // the rest is a Mutex's
		rw := zksync.NewRWMutex(s, path)
		return Subject{rw, rw, zksync.NewRWMutex(other, path), []string{path}}
	}},
	{"write behind a reader", takings(Calls[:1]), func(s, other *zksync.Session, path string) Subject { // the rest is as above
		rw := zksync.NewRWMutex(s, path)
		return Subject{rw, rw.RLocker(), zksync.NewRWMutex(other, path).RLocker(), []string{path}}
	}},
	{"read", takings(Calls), func(s, other *zksync.Session, path string) Subject {
		rw := zksync.NewRWMutex(s, path)
		return Subject{rw.RLocker(), rw, zksync.NewRWMutex(other, path), []string{path}}
	}},
	{"multi", takings(Calls), func(s, other *zksync.Session, path string) Subject {
		more := path + "-more"
		open := func(s *zksync.Session) zksync.Locker {
			return zksync.NewMulti(zksync.NewMutex(s, path), zksync.NewRWMutex(s, more).RLocker())
		}
		m := open(s)
		return Subject{m, m, open(other), []string{path, more}}
	}},
	{"permits", permitTakings, func(s, other *zksync.Session, path string) Subject {
		sem := zksync.NewSemaphore(s, path, 3)
		return Subject{Permits{sem, 2, s}, Permits{sem, 3, s}, Permits{zksync.NewSemaphore(other, path, 3), 2, other}, []string{path}}
	}},
}

// takings are the ways to take a subject that is a lock.
func takings(ways []Way) (all []Taking) {
	for _, w := range ways {
		all = append(all, Taking{Name: w.Name, Try: w.Try, Take: func(ctx context.Context, s Subject) (func(context.Context) error, error) {
			return w.Take(ctx, s.Lock.(zksync.Locker))
		}})
	}
	return all
}

// permitTakings are all calls that take permits.
var permitTakings = []Taking{
	{Name: "Acquire", Bare: true, Take: func(ctx context.Context, s Subject) (func(context.Context) error, error) {
		p := s.Lock.(Permits)
		return p.UnlockContext, p.LockContext(ctx)
	}},
	{Name: "TryAcquire", Bare: true, Try: true, Take: func(_ context.Context, s Subject) (func(context.Context) error, error) {
		p := s.Lock.(Permits)
		if !p.TryAcquire(p.N) {
			return nil, ErrRefused
		}
		return p.UnlockContext, nil
	}},
	{Name: "Hold", Take: func(ctx context.Context, s Subject) (func(context.Context) error, error) {
		p := s.Lock.(Permits)
		return handle(p.Hold(ctx, p.N))
	}},
	{Name: "TryHold", Try: true, Take: func(ctx context.Context, s Subject) (func(context.Context) error, error) {
		p := s.Lock.(Permits)
		return handle(p.TryHold(ctx, p.N))
	}},
	{Name: "Do", Take: func(ctx context.Context, s Subject) (func(context.Context) error, error) {
		p := s.Lock.(Permits)
		return do(func(f func(context.Context, *zksync.Hold) error) error { return p.Do(ctx, p.N, f) })
	}},
	{Name: "TryDo", Try: true, Take: func(ctx context.Context, s Subject) (func(context.Context) error, error) {
		p := s.Lock.(Permits)
		return do(func(f func(context.Context, *zksync.Hold) error) error { return ran(p.TryDo(ctx, p.N, f)) })
	}},
}
