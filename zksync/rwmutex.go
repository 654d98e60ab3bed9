package zksync

import (
	"context"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// RWMutex is a lock that any number of readers or one writer hold, among all the
// programs that use its path. Use it like a sync.RWMutex. An RWMutex and Curator's
// InterProcessReadWriteLock on the same path exclude each other. So do an RWMutex
// and a [Mutex] of this package, which excludes readers and writers alike.
//
// A writer waits for all calls that came before it, a reader for the writers that
// came before it: nobody overtakes, so that neither starves. Readers of one session
// that take the lock without a handle and without an owner share one node in
// ZooKeeper. They join it no more once a writer of the session waits, or once the
// budget of hand-overs (WithHandoff) is used up.
//
// An [Owner] that writes may also read, and go on reading when it has stopped
// writing: no other writer gets in between, and the fence stays that of the write.
// An owner that only reads and asks to write gets ErrDeadlock.
//
// The methods without an R are those of the write side, which RWMutex is as a
// [Locker]. RLocker returns the read side as another Locker. A reader's fence only
// orders arrivals: several readers may have the same fence, and none of them writes.
//
// Get one from NewRWMutex: the zero value is not usable, and its methods panic. An
// RWMutex must not be copied. Two for the same path on one session are the same
// lock. Its methods may be called by several goroutines.
type RWMutex struct {
	w, r Mutex
}

// NewRWMutex returns the read-write lock of a path on a session, as NewMutex
// does. It panics if s is nil.
func NewRWMutex(s *Session, path string, opts ...LockOption) *RWMutex {
	if s == nil {
		panic("zksync: NewRWMutex with a nil Session")
	}
	rw := &RWMutex{}
	rw.w.init(s, path, ModeWrite, znode.Write, opts)
	rw.r.init(s, path, ModeRead, znode.Read, opts)
	return rw
}

func (rw *RWMutex) writer() *Mutex {
	if rw == nil || rw.w.s == nil {
		panic("zksync: use of zero RWMutex")
	}
	return &rw.w
}

func (rw *RWMutex) reader() *Mutex {
	if rw == nil || rw.r.s == nil {
		panic("zksync: use of zero RWMutex")
	}
	return &rw.r
}

// Path returns the lock's path as it was given to NewRWMutex.
func (rw *RWMutex) Path() string { return rw.writer().Path() }

// Lock waits until it holds the lock for writing, through disconnects and session
// changes, for as long as that takes. When it can never hold the lock it panics with
// an *Error, which Is ErrClosed, ErrInvalidPath, ErrSequenceExhausted, ErrNoAuth
// or another refusal of the servers, or tells that the lock's options make no sense
// or contradict those of another value in use for the path. A node that it has made is
// deleted then. Unlock releases the lock.
func (rw *RWMutex) Lock() { rw.writer().Lock() }

// Unlock ends one level of the write lock, whoever took it, as in package sync; the
// last one releases it. Unlock returns once the release has been sent: the next call of
// this session finds the lock released, but another session may be refused for that
// moment. Use UnlockContext to know. It panics if the lock is not locked for writing, or is
// held by a Hold.
//
// The deletion of the node is followed in the background until the node is gone. If that
// shows that the lock had been lost, the loss is logged, unless that was done before.
// Unlock waits when and for as long as that of a Mutex does.
func (rw *RWMutex) Unlock() { rw.writer().Unlock() }

// TryLock takes the write lock if nobody holds the lock or waits for it, and reports
// whether it did. It returns false also while disconnected, after a third of the
// session timeout without an answer, and on every error; it may return false for a
// lock that was released a moment ago. A node that it has made is deleted then, in the
// background if need be.
func (rw *RWMutex) TryLock() bool { return rw.writer().TryLock() }

// LockContext waits until it holds the lock for writing, or until ctx is done: then
// the error Is ctx.Err() and context.Cause(ctx), and says where in line the call
// stood. A ctx that is done already never gets the lock. If ctx carries an Owner that
// holds the lock for writing, the call enters it again at once; if a call of that owner
// gets the lock for writing meanwhile, this one enters with it.
//
// Every error is an *Error. It Is ErrClosed after Close or Shutdown, ErrInvalidPath,
// ErrSequenceExhausted, ErrNoAuth or another refusal of the servers; ErrDeadlock if
// the call's owner only reads, at once or as soon as it does, or if the call is made in
// a Do of the lock; for an owner ErrLost if its hold was lost; or it tells that the options make no sense or contradict those of
// another value in use for the path. A call that fails leaves nothing behind: a node
// that can't be deleted at once is deleted in the background.
func (rw *RWMutex) LockContext(ctx context.Context) error { return rw.writer().LockContext(ctx) }

// TryLockContext takes the write lock if nobody holds the lock or waits for it, and
// reports whether it did: false without an error means that somebody does, for reading
// or for writing. It waits for a connection and for answers, until ctx is done. The
// errors are those of LockContext, and one that says that the call's node was deleted
// twice while it looked. Without the lock it leaves nothing behind: a node that can't
// be deleted at once is deleted in the background.
func (rw *RWMutex) TryLockContext(ctx context.Context) (bool, error) {
	return rw.writer().TryLockContext(ctx)
}

// UnlockContext ends one level of the write lock, as Unlock does, and returns an
// error. If ctx carries an Owner, that is one of the owner's levels, or if the owner has
// none, one that was taken for no owner. ctx bounds only the wait for the confirmation: if ctx ends first, the error
// Is ctx.Err(), the lock is released all the same, and the deletion goes on in the
// background. The error Is ErrLost if the lock had been lost, and ErrClosed if the
// session is closed meanwhile. If it is a refusal of the servers, the node stays until
// the session ends. Every error is an *Error. UnlockContext panics as Unlock does, and
// if only other owners hold the lock for writing.
func (rw *RWMutex) UnlockContext(ctx context.Context) error { return rw.writer().UnlockContext(ctx) }

// Hold waits until it holds the lock for writing, or until ctx is done, and returns a
// handle that knows the fence and the loss. Only the handle's Release gives the lock
// back. The errors are those of LockContext. A call that fails returns no handle and
// leaves nothing behind: a node that can't be deleted at once is deleted in the
// background.
func (rw *RWMutex) Hold(ctx context.Context) (*Hold, error) { return rw.writer().Hold(ctx) }

// TryHold takes the write lock if nobody holds the lock or waits for it, and returns a
// handle as Hold does; otherwise the error Is ErrBusy. It waits for a connection and
// for answers, until ctx is done; the other errors are those of TryLockContext. A call
// that fails leaves nothing behind, as with Hold.
func (rw *RWMutex) TryHold(ctx context.Context) (*Hold, error) { return rw.writer().TryHold(ctx) }

// Do waits for the write lock until ctx is done, and holds it while fn runs. fn gets
// the handle and a context that ends with ctx, with a loss of the lock, and with
// WithCancelOnRevoke when the lock is asked back. Until Do ends, a call with this context, or
// with one made from it, that asks for the same lock on this session, for writing or for
// reading, fails at once with ErrDeadlock. It enters the lock if it is made for an Owner
// who holds it: see [Mutex.Do].
//
// Do returns fn's error, joined with ErrLost if the lock was lost, whatever fn
// returned. An error of fn is also joined with ErrRevoked if the lock was asked back; nil stays nil, because the lock was held. If the lock can't be had, fn
// does not run, and the error is one of LockContext's; nothing is left behind. If fn
// panics the lock is released first. Do waits at most a third of the session timeout for
// the confirmation of the release; after that the deletion goes on in the background, and
// that is no error.
func (rw *RWMutex) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error {
	return rw.writer().Do(ctx, fn)
}

// TryDo runs fn under the write lock as Do does, if nobody holds the lock or waits for
// it, and reports whether fn ran: false without an error means that somebody else has the
// lock, for reading or for writing. It waits for a connection and for answers, until ctx
// is done.
//
// If fn ran, the error is one of Do's. If it did not, the error is one of TryHold's but
// ErrBusy, and nothing is left behind, as with TryHold.
func (rw *RWMutex) TryDo(ctx context.Context, fn func(ctx context.Context, h *Hold) error) (ran bool, err error) {
	return rw.writer().TryDo(ctx, fn)
}

// As returns the write side for one owner; for the read side use RLocker().As. Calls
// on it enter the lock again if o holds it for writing, and are given back level by
// level, whatever owner their contexts carry. Its unlocks end a level of o, or if o has
// none, one that was taken for no owner; they panic if only other owners hold the lock
// for writing. If o only reads, at once or as soon as it does, they fail with
// ErrDeadlock, and if o's hold was lost with ErrLost; Lock panics with these errors. The
// context of Do's fn does not carry o. The first handle on a lock that
// o took without one costs a round trip, which finds out whether the lock was lost. As
// makes no request and panics for the zero Owner.
func (rw *RWMutex) As(o Owner) Locker { return rw.writer().As(o) }

// RLock waits until it holds the lock for reading, through disconnects and session
// changes, for as long as that takes. When it can never hold the lock it panics with
// an *Error, as Lock does. A node that it has made is deleted then. RUnlock releases
// the lock.
func (rw *RWMutex) RLock() { rw.reader().Lock() }

// RUnlock ends one level of the read lock, whoever took it, as in package sync: one
// that no owner took, if there is any, and of these one that was lost. The last level
// on a node deletes it. RUnlock returns once the release has been sent, as Unlock does:
// another session may be refused for that moment. Use RUnlockContext to know. It panics if
// the lock is not locked for reading, or by Holds only. A level that was lost costs no
// request; the loss is logged, unless it was logged before.
func (rw *RWMutex) RUnlock() { rw.reader().Unlock() }

// TryRLock takes the lock for reading if no writer holds it or waits for it, and
// reports whether it did. It returns false also while disconnected, after a third of
// the session timeout without an answer, and on every error; it may return false for
// a lock that was released a moment ago. A node that it has made is deleted then, in
// the background if need be.
func (rw *RWMutex) TryRLock() bool { return rw.reader().TryLock() }

// RLockContext waits until it holds the lock for reading, or until ctx is done: then
// the error Is ctx.Err() and context.Cause(ctx), and says where in line the call
// stood. A ctx that is done already never gets the lock. If ctx carries an Owner that
// holds the lock, for reading or for writing, or gets it meanwhile, the call waits no
// more: an owner that writes holds the lock both ways then, and goes on reading after
// its Unlock.
//
// Every error is an *Error, one of those that LockContext returns; for an owner it Is
// ErrLost if its hold was lost. It Is ErrDeadlock if the call is made in a Do of the
// lock, and for no owner who holds it. A call that fails leaves nothing behind: a node that
// can't be deleted at once is deleted in the background.
func (rw *RWMutex) RLockContext(ctx context.Context) error { return rw.reader().LockContext(ctx) }

// TryRLockContext takes the lock for reading if no writer holds it or waits for it,
// and reports whether it did: false without an error means that a writer stands
// before. It waits for a connection and for answers, until ctx is done. The errors are
// those of RLockContext, and one that says that the call's node was deleted twice
// while it looked. Without the lock it leaves nothing behind: a node that can't be
// deleted at once is deleted in the background.
func (rw *RWMutex) TryRLockContext(ctx context.Context) (bool, error) {
	return rw.reader().TryLockContext(ctx)
}

// RUnlockContext ends one level of the read lock, as RUnlock does, and returns an
// error. If ctx carries an Owner, that is one of the owner's levels, or if the owner has
// none, one that was taken for no owner. ctx bounds only the wait for the confirmation: if ctx ends first, the error Is ctx.Err(), the lock is released
// all the same, and the deletion goes on in the background. The error Is ErrLost if
// the level had been lost, and ErrClosed if the session is closed meanwhile. If it is a
// refusal of the servers, the node stays until the session ends. Every error is an
// *Error. RUnlockContext panics as RUnlock does, and if only other owners read.
func (rw *RWMutex) RUnlockContext(ctx context.Context) error { return rw.reader().UnlockContext(ctx) }

// RLocker returns the read side as a Locker: its Lock is RLock, its Unlock is
// RUnlock, and so on; its Hold and Do hold the lock for reading.
func (rw *RWMutex) RLocker() Locker { return rw.reader() }

func (rw *RWMutex) sealed() {}

var _ Locker = (*RWMutex)(nil)
