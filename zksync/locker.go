package zksync

import (
	"context"
	"sync"
)

// Locker is a distributed lock: a *Mutex, *RWMutex or *Multi, or a result of As or
// RLocker. Only this package can implement it. The methods of sync.Locker mean the
// same as there; the others add a context, a result, and a handle.
//
// Several goroutines may call all methods. A value must not be copied after its
// first use.
type Locker interface {
	// Lock waits until it holds the lock, through disconnects and session
	// changes, for as long as that takes. It has no error to return: when it can
	// never hold the lock it panics with an *Error. The error Is ErrClosed when
	// the session is closed, ErrInvalidPath, ErrSequenceExhausted, ErrNoAuth or
	// another refusal of the servers. For an owner (As) it may also be
	// ErrDeadlock, or ErrLost when the owner's hold was lost. It is another error
	// when an option makes no sense, or contradicts that of another value in use
	// for the path. Unlock ends it.
	//
	// Unlock gives one level of the lock back, whoever took it, as in package sync.
	// It returns once the release has been sent: what this session asks for next
	// finds the lock released, but another session may be refused for that moment.
	// Use UnlockContext to know. The deletion of the node is followed in the
	// background until the node is gone, and a loss that it shows is logged.
	//
	// While there is no connection Unlock does not wait at all. It waits at most a
	// third of the session timeout where sending takes long, or a thousand answers
	// are outstanding. On a client of the program (NewSession) it waits as long for
	// the confirmation itself.
	//
	// On a result of As, Unlock ends a level of the owner, as UnlockContext does. It
	// panics if the lock is not locked, or is held by a Hold. If the lock was lost,
	// Unlock only ends the loss; see ErrLost.
	sync.Locker

	// TryLock takes the lock if it is free now, and reports whether it did. It
	// returns false while disconnected and after a third of the session timeout
	// without an answer, and logs each reason but that somebody else has the lock. It may return false for a lock that was released a
	// moment ago.
	TryLock() bool

	// LockContext waits as Lock does, but not longer than ctx. When ctx is done
	// first, the error Is ctx.Err() and context.Cause(ctx), it says where in
	// line the call stood, and nothing is left behind. A ctx that is done
	// already never gets the lock. All errors are an *Error; Lock lists the
	// others. ErrClosed is also returned after Shutdown.
	LockContext(ctx context.Context) error

	// TryLockContext is TryLock with a context and an error: false without an
	// error means that somebody else has the lock. It waits for an answer, and
	// for a connection, until ctx is done. If somebody deletes its node while it
	// looks, it tries once more, and then fails with an error that says so.
	TryLockContext(ctx context.Context) (bool, error)

	// UnlockContext is Unlock with an error. If ctx carries an owner, it ends a
	// level of that owner, or if the owner has none, one that was taken for no
	// owner; it panics if only other owners hold. ctx bounds only the wait for the
	// confirmation: if ctx is done, the lock is released all the same, the error
	// Is ctx.Err(), and the deletion goes on in the background. The error Is
	// ErrLost if the lock had been lost.
	UnlockContext(ctx context.Context) error

	// Hold waits for the lock as LockContext does, and returns a handle that
	// knows the fence and the loss. Only the handle's Release releases the lock.
	Hold(ctx context.Context) (*Hold, error)

	// TryHold is Hold without a wait: the error Is ErrBusy when somebody else
	// has the lock. Use it to run something unless another instance does.
	TryHold(ctx context.Context) (*Hold, error)

	// Do holds the lock while fn runs. fn's context ends with ctx, and with the
	// loss of the lock. Until Do ends, a call for the same lock with this context,
	// or one made from it, fails at once with ErrDeadlock, unless it is made for
	// an Owner who holds the lock. The same lock is that of the path on this
	// session: either side of an RWMutex, and all that a Multi takes.
	//
	// Do returns fn's error, joined with ErrLost if the lock was lost, whatever fn
	// returned. An error of fn is also joined with ErrRevoked if the lock was asked
	// back; nil stays nil. If the lock can't be had, Do returns that error, and fn
	// does not run. If fn panics, the lock is released first. Do waits at
	// most a third of the session timeout for the confirmation of the release.
	Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error

	// TryDo is Do without a wait for the lock. It reports whether fn ran: false
	// without an error means that somebody else has the lock. It waits for an
	// answer, and for a connection, until ctx is done. If fn ran, the error is
	// one of Do's.
	TryDo(ctx context.Context, fn func(ctx context.Context, h *Hold) error) (ran bool, err error)

	// Path returns the lock's path as it was given to the constructor. For a Multi
	// it is the paths of all its locks with commas between them.
	Path() string

	// As returns the same lock for one owner: calls on it enter a lock again
	// that the owner holds, and unlocks release it level by level. Calls of one
	// owner do not wait for each other: see Owner. A call that can't enter
	// beside what its owner holds fails with ErrDeadlock: Lock panics with it. A
	// lost lock is not entered again: the error Is ErrLost. The first handle on a
	// lock that was taken without one costs a round trip, which finds out whether
	// the lock was lost. As panics for the zero Owner. An owner in the ctx of a
	// call is ignored in favour of o. The context of Do's fn does not carry o.
	As(o Owner) Locker

	sealed()
}

var (
	_ Locker = (*Mutex)(nil)
	_ Locker = (*owned)(nil)
)

// owned is a lock for one owner. It is a type of its own, so that nobody takes it for
// the lock that it was made from.
type owned struct {
	Mutex
}
