package zksync

import (
	"context"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// RWMutex is a lock that is held by any number of readers or by one writer,
// among all the programs that use its path. It is used as a sync.RWMutex is.
// Curator's InterProcessReadWriteLock on the same path is respected, and
// respects it; so does a [Mutex] of this package, which excludes readers and
// writers alike.
//
// A writer waits for all who came before it, a reader for the writers who did:
// nobody overtakes, so that neither starves. Readers of one session that take
// the lock without a handle and without an owner share one node in ZooKeeper;
// they join it no more once a writer of the session waits or the budget of
// hand-overs (WithHandoff) is used up.
//
// An [Owner] that writes may read as well, and go on reading when it has stopped
// writing: no other writer gets in between, and the fence stays the write's. An
// owner that only reads and asks to write gets ErrDeadlock.
//
// The methods without an R are those of the write side, which RWMutex is as a
// [Locker]; RLocker returns the read side as another. A reader's fence orders
// arrivals and no more: several readers may have one, and none of them writes.
//
// Get one from NewRWMutex: the zero value is not usable, and its methods panic.
// An RWMutex must not be copied; two for the same path on one session are the
// same lock. Its methods may be called by several goroutines.
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

// Lock waits until it holds the lock for writing; see Locker.
func (rw *RWMutex) Lock() { rw.writer().Lock() }

// Unlock gives the write lock back; see Locker.
func (rw *RWMutex) Unlock() { rw.writer().Unlock() }

// TryLock takes the write lock if it can be had now; see Locker.
func (rw *RWMutex) TryLock() bool { return rw.writer().TryLock() }

// LockContext waits for the write lock until ctx is done; see Locker.
func (rw *RWMutex) LockContext(ctx context.Context) error { return rw.writer().LockContext(ctx) }

// TryLockContext takes the write lock if it can be had now; see Locker.
func (rw *RWMutex) TryLockContext(ctx context.Context) (bool, error) {
	return rw.writer().TryLockContext(ctx)
}

// UnlockContext gives the write lock back; see Locker.
func (rw *RWMutex) UnlockContext(ctx context.Context) error { return rw.writer().UnlockContext(ctx) }

// Hold waits for the write lock and returns a handle; see Locker.
func (rw *RWMutex) Hold(ctx context.Context) (*Hold, error) { return rw.writer().Hold(ctx) }

// TryHold takes the write lock if it can be had now; see Locker.
func (rw *RWMutex) TryHold(ctx context.Context) (*Hold, error) { return rw.writer().TryHold(ctx) }

// Do holds the write lock while fn runs; see Locker.
func (rw *RWMutex) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error {
	return rw.writer().Do(ctx, fn)
}

// As returns the write side for one owner; see Locker. For the read side use
// RLocker().As.
func (rw *RWMutex) As(o Owner) Locker { return rw.writer().As(o) }

// RLock waits until it holds the lock for reading. As Lock it panics when it can
// never hold.
func (rw *RWMutex) RLock() { rw.reader().Lock() }

// RUnlock gives one read lock back, whoever took it, as in package sync: one
// that was lost, if there is any. It panics if there is none.
func (rw *RWMutex) RUnlock() { rw.reader().Unlock() }

// TryRLock takes the lock for reading if it can be had now; see TryLock.
func (rw *RWMutex) TryRLock() bool { return rw.reader().TryLock() }

// RLockContext is RLock with an end and an error; see LockContext.
func (rw *RWMutex) RLockContext(ctx context.Context) error { return rw.reader().LockContext(ctx) }

// TryRLockContext is TryRLock with an end and an error; see TryLockContext.
func (rw *RWMutex) TryRLockContext(ctx context.Context) (bool, error) {
	return rw.reader().TryLockContext(ctx)
}

// RUnlockContext is RUnlock with an error; see UnlockContext.
func (rw *RWMutex) RUnlockContext(ctx context.Context) error { return rw.reader().UnlockContext(ctx) }

// RLocker returns the read side as a Locker: its Lock is RLock, its Unlock
// RUnlock, its Hold and Do hold the lock for reading.
func (rw *RWMutex) RLocker() Locker { return rw.reader() }

func (rw *RWMutex) sealed() {}

var _ Locker = (*RWMutex)(nil)
