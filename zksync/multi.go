package zksync

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Multi is several locks of one session that are taken as one and given back as
// one. One transaction puts a node in all the queues, so that of two Multis one
// is ahead in every queue they share: in whatever order they name their locks,
// they can't wait for each other, as long as their goroutines hold nothing else.
//
// It stands on nodes of its own: it does not join what the session holds
// already, and takes or gives no hand-over. Its Hold is lost when any of the
// locks is; its fence is that of every one of them, since one transaction has one
// zxid. An owner that holds one of the locks already gets ErrDeadlock, and so
// does one that holds the Multi and asks for one of its locks.
//
// Get one from NewMulti: the zero value is not usable, and its methods panic. A
// Multi must not be copied; two of the same locks on one session are the same
// lock. Its methods may be called by several goroutines.
type Multi struct {
	m Mutex
}

// NewMulti returns the lock of several locks: any mix of Mutexes, RWMutexes
// (their write sides), read sides (RLocker), and Multis, all of one session. What
// is named twice counts once, and writing wins over reading. An owner that As has
// given one of them is not the Multi's.
//
// Each lock keeps the options that show in ZooKeeper: kazoo sees those with
// WithKazooQueue. It panics without a lock, or if they are of several sessions.
// All must have the same access list (WithACL), what is named twice the same
// options, and their paths must be valid: otherwise every use of the Multi fails.
// So it does, with a *SizeError, when there are so many locks that one transaction
// can't hold them.
func NewMulti(locks ...Locker) *Multi {
	mu := &Multi{}
	for _, l := range locks {
		mu.add(l)
	}
	m := &mu.m
	if m.s == nil {
		panic("zksync: NewMulti without a lock")
	}
	slices.SortFunc(m.cfg.parts, func(a, b part) int { return cmp.Compare(a.path, b.path) })
	m.full = multiKey(m.cfg.parts)
	m.mode, m.kind = ModeMulti, znode.Read
	for _, p := range m.cfg.parts { // of read sides alone several hold at a time
		if p.kind != znode.Read {
			m.kind = znode.Exclusive
		}
	}
	m.cfg.handoff, m.cfg.manners = 0, manners{}
	return mu
}

// multiKey is the key of a Multi among the locks of a session. It is no path's,
// as it has no slash first. Each path comes with its length, so that none can
// pass for the end of a part and another one.
func multiKey(parts []part) string {
	var key []byte
	for _, p := range parts {
		key = fmt.Appendf(key, "%v %t %d %s", p.kind, p.twin, len(p.path), p.path)
	}
	return string(key)
}

// add takes the parts of a lock over.
func (mu *Multi) add(l Locker) {
	var m *Mutex
	switch l := l.(type) {
	case *Mutex:
		m = l
	case *RWMutex:
		m = l.writer()
	case *Multi:
		m = l.all()
	case *owned:
		m = l.m
	default:
		panic("zksync: NewMulti with a nil Locker")
	}
	m.check()
	all := &mu.m
	parts := m.cfg.parts
	if parts == nil {
		parts = []part{{m.full, m.kind, m.cfg.manners, m.cfg.kazoo && m.kind == znode.Exclusive}}
	}
	switch {
	case all.s == nil:
		all.s, all.cfg, all.path = m.s, m.cfg, m.path
		all.cfg.parts = nil
	case all.s != m.s:
		panic("zksync: NewMulti with locks of several sessions")
	default:
		all.path += "," + m.path
		if !slices.Equal(all.cfg.acl, m.cfg.acl) && all.err == nil {
			all.err = errOptions
		}
	}
	if all.err == nil {
		all.err = m.err
	}
	for _, p := range parts {
		i := slices.IndexFunc(all.cfg.parts, func(o part) bool { return o.path == p.path })
		if i < 0 {
			all.cfg.parts = append(all.cfg.parts, p)
			continue
		}
		o := &all.cfg.parts[i]
		if !o.manners.same(&p.manners) && all.err == nil {
			all.err = errOptions
		}
		if o.kind == znode.Read {
			o.kind = p.kind
		}
		o.twin = o.twin || p.twin
	}
}

func (mu *Multi) all() *Mutex {
	if mu == nil || mu.m.s == nil {
		panic("zksync: use of zero Multi")
	}
	return &mu.m
}

// Path returns the paths of the locks as they were given, with commas between
// them.
func (mu *Multi) Path() string { return mu.all().path }

// Lock waits until it holds all locks; see Locker.
func (mu *Multi) Lock() { mu.all().Lock() }

// Unlock gives all locks back; see Locker.
func (mu *Multi) Unlock() { mu.all().Unlock() }

// TryLock takes all locks if they can be had now; see Locker.
func (mu *Multi) TryLock() bool { return mu.all().TryLock() }

// LockContext waits for all locks until ctx is done; see Locker.
func (mu *Multi) LockContext(ctx context.Context) error { return mu.all().LockContext(ctx) }

// TryLockContext takes all locks if they can be had now; see Locker.
func (mu *Multi) TryLockContext(ctx context.Context) (bool, error) {
	return mu.all().TryLockContext(ctx)
}

// UnlockContext gives all locks back; see Locker.
func (mu *Multi) UnlockContext(ctx context.Context) error { return mu.all().UnlockContext(ctx) }

// Hold waits for all locks and returns one handle for them; see Locker.
func (mu *Multi) Hold(ctx context.Context) (*Hold, error) { return mu.all().Hold(ctx) }

// TryHold takes all locks if they can be had now; see Locker.
func (mu *Multi) TryHold(ctx context.Context) (*Hold, error) { return mu.all().TryHold(ctx) }

// Do holds all locks while fn runs; see Locker.
func (mu *Multi) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error {
	return mu.all().Do(ctx, fn)
}

// As returns the same locks for one owner; see Locker.
func (mu *Multi) As(o Owner) Locker { return mu.all().As(o) }

func (mu *Multi) sealed() {}

var _ Locker = (*Multi)(nil)
