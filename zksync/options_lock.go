package zksync

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// LockOption changes a lock. Options that show in ZooKeeper (WithACL,
// WithKazooName, WithForeignPrefix) must be the same in all values for one path on
// one session that are in use at the same time, parts of Multis included: a call on a
// value that differs fails with an *Error. The other options may differ from value to
// value.
type LockOption interface{ applyLock(*lockConfig) error }

type lockOptionFunc func(*lockConfig) error

func (f lockOptionFunc) applyLock(c *lockConfig) error { return f(c) }

type lockConfig struct {
	local.Terms
	handoff   int
	linger    time.Duration
	strict    bool
	revocable bool

	// Options of the lock's own that not every lock has: an error where they don't
	// apply. Those of WithLockDefaults are left out of account there.
	ownStrict, ownKazoo, ownLinger bool
	ownForeign                     []znode.Foreign
}

func (c *lockConfig) apply(opts []LockOption) error {
	for _, o := range opts {
		if o == nil {
			return errors.New("nil lock option")
		}
		if err := o.applyLock(c); err != nil {
			return err
		}
	}
	return nil
}

// WithACL sets the access list of the lock's nodes, and of the parents that have to
// be made. Programs that share the lock need to read, create and delete below the
// path. The default lets everybody do everything.
func WithACL(acl ...zk.ACL) LockOption {
	acl = slices.Clone(acl)
	return lockOptionFunc(func(c *lockConfig) error {
		size := 0
		for _, a := range acl {
			size += len(a.Scheme) + len(a.ID) + 12
		}
		switch {
		case len(acl) == 0:
			return errors.New("WithACL needs at least one entry")
		case size > 32<<10:
			return fmt.Errorf("WithACL: %d bytes of entries, want at most 32 KiB", size)
		}
		c.ACL = acl
		return nil
	})
}

// WithHandoff bounds how many times in a row a lock taken by Lock, LockContext or
// TryLock, or permits taken by Acquire or TryAcquire, pass to the next goroutine of the
// same session, without the network, once the session knows that another session waits. Then the session goes to the back of
// the queue. With 0, every call waits for its turn in ZooKeeper. The default is 16.
func WithHandoff(n int) LockOption {
	return lockOptionFunc(func(c *lockConfig) error {
		if n < 0 {
			return fmt.Errorf("WithHandoff(%d): want 0 or more", n)
		}
		c.handoff = n
		return nil
	})
}

// WithLinger has the session keep the node of a lock for up to d after the last Unlock.
// While it does, the next Lock, LockContext or TryLock of this session takes the lock
// without a request, and Unlock leaves it so. The option is for a lock that one process
// takes over and over, and others seldom. The default is 0, which keeps nothing.
//
// The price: while the session keeps an unused lock, a TryLock in other processes is
// refused, and a Lock there waits for one round trip more. The session gives way at once
// when anybody else comes for the lock, which it learns from one watch for each such lock;
// when somebody asks for it ([Session.Revoke]); and when another call of its own, such as
// Hold, RLock instead of Lock, or a Multi, can't use the node. It also ends with a loss of
// the connection, Shutdown and Close. If the process dies, the lock is free after the
// session timeout.
//
// The session keeps only a lock that it got without having to wait for others, so that a
// lock for which sessions compete costs what it costs without the option. To begin with
// that takes two reads after the Unlock. A session that has not heard of the quorum for
// half the session timeout asks first, before it uses the lock again, and of the uses that
// follow each other WithHandoff bounds how many go without looking whether others wait.
//
// Hold and Do never use a node that was kept, nor leave one. An UnlockContext that keeps
// the node makes no request, so that it reports the losses that the session has heard of.
// On a Session of [NewSession] the node is kept for a session timeout at most. The option
// applies to the value whose Lock took the lock, whichever value unlocks it; where several
// readers share it, the least counts. It is an *Error at each use of the lock if d is
// negative or more than 24 hours, with WithHandoff(0), and if it is given to a Semaphore.
// A Multi keeps nothing, whatever its locks do.
func WithLinger(d time.Duration) LockOption {
	return lockOptionFunc(func(c *lockConfig) error {
		if d < 0 || d > 24*time.Hour {
			return fmt.Errorf("WithLinger(%v): want 0 to 24h", d)
		}
		c.linger, c.ownLinger = d, d > 0
		return nil
	})
}

// WithStrictLimit makes a Semaphore refuse, with ErrLimitMismatch, to share its path
// with programs that use another limit. Without it the smallest limit of those in
// line counts, as a deployment that changes the limit needs. Given to a lock of another
// kind, the option makes every use of the lock fail with an *Error.
func WithStrictLimit() LockOption {
	return lockOptionFunc(func(c *lockConfig) error { c.strict, c.ownStrict = true, true; return nil })
}

// WithKazooName puts a Mutex, alone or as a part of a Multi, in line under kazoo's
// name, too, by a second node in the same transaction. kazoo's Lock then respects it
// unless told to look for other names. Without the option a kazoo program has to
// pass extra_lock_patterns=["-lock-"]. This library respects kazoo either way.
// Curator and kazoo never respect each other. The option costs no request.
//
// An RWMutex accepts the option so that it can be used on one path with a Mutex that has
// it, and makes no second node. Given to a Semaphore, the option makes every use fail with
// an *Error.
func WithKazooName() LockOption {
	return lockOptionFunc(func(c *lockConfig) error { c.Kazoo, c.ownKazoo = true, true; return nil })
}

// WithCancelOnRevoke ends the context that Do passes to its function, and Election.Run to
// its, with the cause ErrRevoked, when somebody asks for the lock; see Hold.Revoked and
// Session.Revoke. With or without the option, Do then joins ErrRevoked with an error of the
// function, and Run stands again once the function has returned.
func WithCancelOnRevoke() LockOption {
	return lockOptionFunc(func(c *lockConfig) error { c.revocable = true; return nil })
}
