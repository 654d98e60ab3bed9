package zksync

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Mutex is a mutual exclusion lock. It has one holder at a time among all the
// programs that use its path, on this machine and others. A Mutex and Curator's
// InterProcessMutex or go-zookeeper's Lock on the same path exclude each other.
//
// Use a Mutex like a sync.Mutex: it is not tied to a goroutine. Sessions get it in
// the order in which they came, and so do the goroutines of one session among
// themselves. Unlike a sync.Mutex it can be lost: see ErrLost, Hold and its fence.
//
// Get one from NewMutex: the zero value is not usable, and its methods panic. A
// Mutex must not be copied. Two for the same path on one session are the same lock,
// so that a program may make one for each request. Its methods may be called by
// several goroutines.
type Mutex struct {
	s     *Session
	path  string   // as given
	paths []string // of a Multi: those of its locks; else nil
	full  string   // with the session's root; "", which no lock in use has, if it is invalid
	mode  Mode     // an RWMutex's sides are of this type, too
	kind  znode.Kind
	cfg   lockConfig
	err   error // every use fails with it
	as    Owner // of As, for whom all calls are made; zero: for the owner of their ctx

	silent  bool                       // calls have nobody to tell of them: no tracer, and no owner of As
	lingers bool                       // linger.go; again may take the lock
	kept    atomic.Pointer[local.Lock] // linger.go; the lock in use, as last seen
}

// NewMutex returns the lock of a path on a session. It makes no request: an invalid
// path (ErrInvalidPath), or an option that makes no sense, is reported when the lock
// is used. It panics if s is nil.
func NewMutex(s *Session, path string, opts ...LockOption) *Mutex {
	if s == nil {
		panic("zksync: NewMutex with a nil Session")
	}
	m := &Mutex{}
	m.init(s, path, ModeMutex, znode.Exclusive, opts)
	return m
}

// init fills in a lock of a kind. A default of the session that does not apply to the
// kind is left out; an own option of the lock that does not is its error.
func (m *Mutex) init(s *Session, path string, mode Mode, kind znode.Kind, opts []LockOption) {
	s.check()
	*m = Mutex{s: s, path: path, full: s.cfg.chroot + path, mode: mode, kind: kind, cfg: s.cfg.locks}
	if m.cfg.Permits = kind == znode.Permit; m.cfg.Permits {
		m.cfg.Foreign = nil
	}
	for _, p := range [...]string{path, m.full} {
		if err := znode.ValidPath(p); err != nil {
			m.full, m.err = "", fmt.Errorf("%w: %w", ErrInvalidPath, err)
			return
		}
	}
	if m.err = m.cfg.apply(opts); m.err == nil {
		m.err = m.cfg.fits(kind)
	}
	m.cfg.ownForeign = nil
	m.silent = m.err == nil && s.cfg.tracer.silent()
	m.lingers = m.silent && m.cfg.linger > 0
}

// Path returns the lock's path as it was given to NewMutex.
func (m *Mutex) Path() string {
	m.check()
	return m.path
}

// Lock waits until it holds the lock, through disconnects and session changes, for
// as long as that takes. When it can never hold the lock it panics with an *Error,
// which Is ErrClosed, ErrInvalidPath, ErrSequenceExhausted, ErrNoAuth or another
// refusal of the servers, or tells that the lock's options make no sense or
// contradict those of another value in use for the path. A node that it has made is
// deleted then. Unlock releases the lock.
func (m *Mutex) Lock() {
	if !m.again() {
		m.lock(context.Background())
	}
}

func (m *Mutex) lock(ctx context.Context) {
	c := m.newCall(ctx)
	c.Must = true
	if err := m.acquire(ctx, "lock", c); err != nil {
		panic(err)
	}
	c.recycle()
}

// Unlock ends one level of the lock, whoever took it, as in package sync; the last
// one releases it. Unlock returns once the release has been sent: the next call of this
// session finds the lock released, but another session may be refused for that moment.
// Use UnlockContext to know. It panics if the lock is not locked, or is held by a Hold.
//
// The deletion of the node is followed in the background until the node is gone. If that
// shows that the lock had been lost, the loss is logged, unless that was done before.
// While there is no connection Unlock does not wait. It waits at most a third of the
// session timeout where sending takes long, where a thousand answers are outstanding, and
// for the confirmation where the client belongs to the program (NewSession).
func (m *Mutex) Unlock() {
	if m.keep(false) {
		return
	}
	b := m.release(context.Background(), conn.Wait)
	m.s.follow(b, func(err error) {
		m.s.logger().Error("zksync: the lock had been lost before its Unlock", "path", m.path, "node", b.Node, "error", err)
	})
	m.s.sent(time.Time{}, b)
}

// brief bounds a wait that no caller bounds.
func (m *Mutex) brief(ctx context.Context) (context.Context, context.CancelFunc) {
	m.check()
	return context.WithTimeout(ctx, m.s.Timeout()/3)
}

// TryLock takes the lock if nobody holds it or waits for it, and reports whether it
// did. It returns false also while disconnected, after a third of the session timeout
// without an answer, and on every error, which is logged (WithLogger) unless somebody else
// has the lock. It may return false for a lock that was released a moment ago. A node that it has made is deleted then, in the background
// if need be.
func (m *Mutex) TryLock() bool { return m.again() || m.tryLock(context.Background()) }

func (m *Mutex) tryLock(ctx context.Context) bool {
	ctx, cancel := m.brief(ctx)
	defer cancel()
	return m.s.tried(m.acquire(ctx, "try", (&call{now: true}).tries()))
}

// LockContext waits until it holds the lock, or until ctx is done: then the error Is
// ctx.Err() and context.Cause(ctx), and says where in line the call stood. A ctx
// that is done already never gets the lock. If ctx carries an Owner that holds the
// lock, the call enters it again at once; if a call of that owner gets the lock
// meanwhile, this one enters with it.
//
// Every error is an *Error. It Is ErrClosed after Close or Shutdown, ErrInvalidPath,
// ErrSequenceExhausted, ErrNoAuth or another refusal of the servers; ErrDeadlock if
// the call would wait for its own owner, or for the Do that it is made in; for an owner
// ErrLost if its hold was lost; or it tells that the options make no sense or contradict
// those of another value in use for the path, or that permits of a Semaphore stand there.
// A call that fails leaves nothing behind: a node that can't be deleted
// at once is deleted in the background.
func (m *Mutex) LockContext(ctx context.Context) error {
	if m.againFor(ctx) {
		return nil
	}
	c := m.newCall(ctx)
	err := m.acquire(ctx, "lock", c)
	if err == nil {
		c.recycle()
	}
	return err
}

// TryLockContext takes the lock if nobody holds it or waits for it, and reports
// whether it did: false without an error means that somebody does. It waits for a
// connection and for answers, until ctx is done. The errors are those of LockContext,
// and one that says that the call's node was deleted twice while it looked. Without
// the lock it leaves nothing behind: a node that can't be deleted at once is deleted
// in the background.
func (m *Mutex) TryLockContext(ctx context.Context) (bool, error) {
	if m.againFor(ctx) {
		return true, nil
	}
	err := m.acquire(ctx, "try", new(call).tries())
	if errors.Is(err, ErrBusy) {
		return false, nil
	}
	return err == nil, err
}

// UnlockContext ends one level of the lock, as Unlock does, and returns an error. If
// ctx carries an Owner, that is one of the owner's levels, or if the owner has none, one
// that was taken for no owner. ctx bounds only the wait for the confirmation: if ctx ends first, the error Is
// ctx.Err(), the lock is released all the same, and the deletion goes on in the
// background. The error Is ErrLost if the lock had been lost, and ErrClosed if the
// session is closed meanwhile. If it is a refusal of the servers, the node stays until
// the session ends. Every error is an *Error. UnlockContext panics as Unlock does, and
// if only other owners hold the lock.
func (m *Mutex) UnlockContext(ctx context.Context) error {
	if m.keep(true) {
		return nil
	}
	m.check()
	b := m.release(ctx, pace(ctx.Err() != nil))
	if err := m.s.wait(ctx, b); err != nil {
		return &Error{Op: "unlock", Path: m.path, Node: b.Node, Err: err}
	}
	return nil
}

// Hold waits until it holds the lock, or until ctx is done, and returns a handle that
// knows the fence and the loss. Only the handle's Release gives the lock back. The
// errors are those of LockContext. A call that fails returns no handle and leaves
// nothing behind: a node that can't be deleted at once is deleted in the background.
func (m *Mutex) Hold(ctx context.Context) (*Hold, error) {
	c := holdCall()
	err := m.acquire(ctx, "hold", c)
	return c.hold, err
}

// TryHold takes the lock if nobody holds it or waits for it, and returns a handle as
// Hold does; otherwise the error Is ErrBusy. It is the way to run something unless
// another instance does. It waits for a connection and for answers, until ctx is done;
// the other errors are those of TryLockContext. A call that fails leaves nothing
// behind, as with Hold.
func (m *Mutex) TryHold(ctx context.Context) (*Hold, error) {
	c := holdCall().tries()
	err := m.acquire(ctx, "try", c)
	return c.hold, m.whoElse(ctx, err)
}

// As returns the lock for one owner. Calls on it enter the lock again if o holds it,
// and are given back level by level, whatever owner their contexts carry. Its unlocks
// end a level of o, or if o has none, one that was taken for no owner; they panic if
// only other owners hold the lock. If o holds what the call can't be beside they fail
// with ErrDeadlock, and if o's hold was lost with ErrLost; Lock panics with these
// errors. The context of Do's fn does not carry o. The first handle on a lock that o took without one
// costs a round trip, which finds out whether the lock was lost. As makes no request
// and panics for the zero Owner.
func (m *Mutex) As(o Owner) Locker {
	m.check()
	if o.IsZero() {
		panic("zksync: As with the zero Owner")
	}
	return &owned{Mutex{s: m.s, path: m.path, paths: m.paths, full: m.full, mode: m.mode, kind: m.kind, cfg: m.cfg, err: m.err, as: o}}
}

func (m *Mutex) sealed() {}

func (m *Mutex) check() {
	if m == nil || m.s == nil {
		panic("zksync: use of zero Mutex")
	}
}

// pace returns the pace of a deletion whose confirmation is waited for. A caller whose ctx
// has ended must not wait for a write that blocks.
func pace(ended bool) conn.Pace {
	if ended {
		return conn.Later
	}
	return conn.Soon
}

// release ends one level of a plain lock. See local.Back.Run for pace.
func (m *Mutex) release(ctx context.Context, pace conn.Pace) local.Back {
	m.check()
	read, by := m.kind == znode.Read, local.Name{}
	if read { // of calls that share a node their names tell which
		by.Owner, by.Trace = labelFrom(ctx), m.s.parent(ctx)
	}
	l := m.s.table.Find(m.full)
	if l == nil {
		m.unlocked(local.ErrUnlocked)
	}
	b, err := func() (local.Back, error) {
		defer l.Leave()
		return l.Unlock(read, m.owner(ctx).id, by)
	}()
	if err != nil {
		m.unlocked(err)
	}
	b.Run(pace)
	return b
}

// unlocked panics for an unlock that has no level to end.
func (m *Mutex) unlocked(why error) {
	read, others := m.mode == ModeRead, errors.Is(why, local.ErrOthers)
	switch {
	case read && others:
		panic("zksync: RUnlock of a lock that only other owners read")
	case read:
		panic("zksync: RUnlock of a lock that is not locked for reading")
	case others:
		panic("zksync: Unlock of a lock that another owner holds")
	case errors.Is(why, local.ErrHandle):
		panic("zksync: Unlock of a lock held by a Hold")
	}
	panic("zksync: Unlock of an unlocked lock")
}
