package zksync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Mutex is a mutual exclusion lock that is held by one at a time among all the
// programs that use its path, on this machine and others; Curator's
// InterProcessMutex and go-zookeeper's Lock on the same path are respected, and
// respect it.
//
// A Mutex is used as a sync.Mutex is: it is not tied to a goroutine, and
// waiters get it in the order in which their sessions came, goroutines of one
// session in the order in which they did. Unlike a sync.Mutex it can be lost:
// see ErrLost, Hold and its fence.
//
// Get one from NewMutex: the zero value is not usable, and its methods panic.
// A Mutex must not be copied; two for the same path on one session are the same
// lock, so that making one per request is cheap. Its methods may be called by
// several goroutines.
type Mutex struct {
	s    *Session
	path string // as given
	full string // with the session's root; "", which no lock in use has, if it is invalid
	mode Mode   // an RWMutex's sides are of this type, too
	kind znode.Kind
	cfg  lockConfig
	err  error // every use fails with it
}

// NewMutex returns the lock of a path on a session. It makes no request, and no
// node until the lock is used: a path that is invalid (ErrInvalidPath), or an
// option that makes no sense, shows then. It panics if s is nil.
func NewMutex(s *Session, path string, opts ...LockOption) *Mutex {
	if s == nil {
		panic("zksync: NewMutex with a nil Session")
	}
	m := &Mutex{}
	m.init(s, path, ModeMutex, znode.Exclusive, opts)
	return m
}

func (m *Mutex) init(s *Session, path string, mode Mode, kind znode.Kind, opts []LockOption) {
	*m = Mutex{s: s, path: path, full: s.cfg.chroot + path, mode: mode, kind: kind, cfg: s.cfg.locks}
	m.cfg.permits = kind == znode.Permit
	for _, p := range [...]string{path, m.full} {
		if err := znode.ValidPath(p); err != nil {
			m.full, m.err = "", fmt.Errorf("%w: %w", ErrInvalidPath, err)
			return
		}
	}
	if m.err = m.cfg.apply(opts); m.err == nil {
		m.err = m.cfg.heeds(kind)
	}
}

// Path returns the lock's path as it was given to NewMutex.
func (m *Mutex) Path() string {
	m.check()
	return m.path
}

// Lock waits until it holds the lock; see Locker.
func (m *Mutex) Lock() { m.lock(context.Background()) }

func (m *Mutex) lock(ctx context.Context) {
	w := &waiter{noErr: true}
	if err := m.acquire(ctx, "lock", w); err != nil {
		panic(err)
	}
}

// Unlock gives the lock back; see Locker.
func (m *Mutex) Unlock() {
	ctx, cancel := m.brief(context.Background())
	defer cancel()
	m.unlock(ctx, false)
}

// brief bounds a wait that no caller bounds.
func (m *Mutex) brief(ctx context.Context) (context.Context, context.CancelFunc) {
	m.check()
	return context.WithTimeout(ctx, m.s.Timeout()/3)
}

// unlock is Unlock: with an owner in ctx, for that owner.
func (m *Mutex) unlock(ctx context.Context, mine bool) {
	node, known, err := m.release(ctx)
	switch {
	case errors.Is(err, ErrNotOwner) && mine:
		panic("zksync: Unlock of a lock that another owner holds")
	case errors.Is(err, ErrLost) && !known:
		m.s.logger().Error("zksync: the lock had been lost before its Unlock", "path", m.path, "node", node, "error", err)
	}
}

// TryLock takes the lock if it can be had now; see Locker.
func (m *Mutex) TryLock() bool { return m.tryLock(context.Background()) }

func (m *Mutex) tryLock(ctx context.Context) bool {
	ctx, cancel := m.brief(ctx)
	defer cancel()
	return m.acquire(ctx, "try", &waiter{now: true, acq: Acquire{Try: true}}) == nil
}

// LockContext waits for the lock until ctx is done; see Locker.
func (m *Mutex) LockContext(ctx context.Context) error {
	return m.acquire(ctx, "lock", &waiter{})
}

// TryLockContext takes the lock if it can be had now; see Locker.
func (m *Mutex) TryLockContext(ctx context.Context) (bool, error) {
	err := m.acquire(ctx, "try", &waiter{acq: Acquire{Try: true}})
	if errors.Is(err, ErrBusy) {
		return false, nil
	}
	return err == nil, err
}

// UnlockContext gives the lock back; see Locker.
func (m *Mutex) UnlockContext(ctx context.Context) error {
	if node, _, err := m.release(ctx); err != nil {
		return &Error{Op: "unlock", Path: m.path, Node: node, Err: err}
	}
	return nil
}

// Hold waits for the lock and returns a handle; see Locker.
func (m *Mutex) Hold(ctx context.Context) (*Hold, error) {
	w := &waiter{hold: true}
	err := m.acquire(ctx, "hold", w)
	return w.handle, err
}

// TryHold takes the lock if it can be had now; see Locker.
func (m *Mutex) TryHold(ctx context.Context) (*Hold, error) {
	w := &waiter{hold: true, acq: Acquire{Try: true}}
	err := m.acquire(ctx, "try", w)
	return w.handle, err
}

// Do holds the lock while fn runs; see Locker.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error {
	m.check()
	o := m.owner(ctx)
	w := &waiter{hold: true}
	if o.IsZero() {
		o = NewOwner("")
		o.private = true
	}
	ctx = context.WithValue(ctx, doKey{m.s, m.full}, o)
	for _, p := range m.cfg.parts { // they are this owner's: ErrDeadlock, not a wait for itself
		ctx = context.WithValue(ctx, doKey{m.s, p.path}, o)
	}
	if err := m.acquire(ctx, "do", w); err != nil {
		return err
	}
	return m.work(ctx, w.handle, fn)
}

// work runs fn under a hold, and gives it back.
func (m *Mutex) work(ctx context.Context, h *Hold, fn func(ctx context.Context, h *Hold) error) (err error) {
	defer func() { // also when fn panics or ends its goroutine
		rctx, cancel := m.brief(context.Background())
		defer cancel()
		rerr := h.Release(rctx)
		if rctx.Err() != nil && errors.Is(rerr, context.DeadlineExceeded) {
			// Not confirmed yet: that goes on without us, and is no reason to
			// tell that the work failed.
			rerr = nil
		}
		err = join(err, rerr)
	}()
	ctx = h.Context(ctx)
	if m.cfg.revocable {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		select {
		case <-h.Revoked():
			cancel(ErrRevoked)
		default:
			go func() {
				select {
				case <-h.Revoked():
					cancel(ErrRevoked)
				case <-ctx.Done():
				}
			}()
		}
	}
	return fn(ctx, h)
}

// join adds the error of a clean-up to the error that caused it, which comes
// first: the clean-up must not hide the cause.
func join(err, cleanup error) error {
	switch {
	case err == nil:
		return cleanup
	case cleanup == nil:
		return err
	}
	return errors.Join(err, cleanup)
}

// As returns the lock for one owner; see Locker.
func (m *Mutex) As(o Owner) Locker {
	m.check()
	if o.IsZero() {
		panic("zksync: As with the zero Owner")
	}
	return &owned{m: m, o: o}
}

func (m *Mutex) sealed() {}

func (m *Mutex) check() {
	if m == nil || m.s == nil {
		panic("zksync: use of zero Mutex")
	}
}

// owner is for whom a call with ctx is made: the owner of an enclosing Do of
// this very lock, else the program's own.
func (m *Mutex) owner(ctx context.Context) Owner {
	if o, ok := ctx.Value(doKey{m.s, m.full}).(Owner); ok && !o.IsZero() {
		return o
	}
	o, _ := OwnerFrom(ctx)
	return o
}

// acquire is every way to get the lock. The error is an *Error.
func (m *Mutex) acquire(ctx context.Context, op string, w *waiter) error {
	m.check()
	m.describe(ctx, w)
	return m.outcome(op, w, m.traced(w))
}

// describe says in w whose call it is, and what it wants.
//
//go:noinline
func (m *Mutex) describe(ctx context.Context, w *waiter) {
	w.call, w.ctx, w.start = ctx, ctx, time.Now()
	w.acq.Path, w.acq.Mode, w.acq.Weight = m.path, m.mode, w.weight
	w.kind, w.terms, w.handoff, w.strict = m.kind, &m.cfg.terms, m.cfg.handoff, m.cfg.strict
	if m.kind == znode.Permit {
		return // of nobody
	}
	if w.owner = m.owner(ctx); !w.owner.private {
		w.acq.Owner = w.owner
	}
}

//go:noinline
func (m *Mutex) outcome(op string, w *waiter, err error) error {
	if err == nil {
		return nil
	}
	w.handle = nil
	return &Error{Op: op, Path: m.path, Node: w.node, Position: w.place, Err: err}
}

// begin counts the call in as one that uses the lock, unless it has its result
// before it comes to that. settle counts it out.
//
//go:noinline
func (m *Mutex) begin(w *waiter) error {
	switch {
	case m.err != nil:
		return m.err
	case w.kind == znode.Permit && (w.weight == 0 || w.weight > w.limit):
		return m.apart(w)
	case w.now:
		if st, _ := m.s.conn.State(); !st.Up {
			return cmpErr(m.s.alive(), errOffline)
		}
	}
	if m.entangled(w.owner) {
		return ErrDeadlock
	}
	w.lock = m.s.enter(m.path, m.full)
	if m.cfg.parts != nil {
		w.lock.consist(&m.cfg.terms)
	}
	return nil
}

// release ends one level of a plain lock. known tells whether a loss had been
// noticed, and logged, before.
func (m *Mutex) release(ctx context.Context) (node string, known bool, err error) {
	m.check()
	l := m.s.find(m.full)
	switch {
	case l != nil:
	case m.kind == znode.Read:
		panic("zksync: RUnlock of a lock that is not locked for reading")
	default:
		panic("zksync: Unlock of an unlocked lock")
	}
	g := func() given {
		defer l.leave()
		if m.kind == znode.Read {
			return l.runlock(ctx, m.owner(ctx))
		}
		return l.unlock(m.owner(ctx))
	}()
	g.then.run()
	if g.err == nil {
		g.err = g.rel.wait(ctx, m.s)
	}
	return g.node, g.known, g.err
}
