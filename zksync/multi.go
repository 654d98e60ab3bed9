package zksync

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/defect"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
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
// It panics without a lock, or if they are of several sessions. All must have
// the same access list (WithACL), and their paths must be valid: otherwise every
// use of the Multi fails.
func NewMulti(locks ...Locker) *Multi {
	mu := &Multi{}
	var names []string
	for _, l := range locks {
		mu.add(l)
	}
	if mu.m.s == nil {
		panic("zksync: NewMulti without a lock")
	}
	if !defect.On(defect.OneByOne) {
		slices.SortFunc(mu.m.parts, func(a, b queue.Place) int { return cmp.Compare(a.Parent, b.Parent) })
	}
	for _, p := range mu.m.parts {
		names = append(names, p.Kind.String()+" "+p.Parent)
	}
	// No path has a space before its first slash: the key is no other lock's.
	mu.m.full = "multi " + strings.Join(names, ", ")
	mu.m.mode, mu.m.kind = ModeMulti, znode.Exclusive
	mu.m.cfg.handoff, mu.m.cfg.foreign = 0, nil
	for _, p := range mu.m.parts { // for comparison with another value's, part by part
		mu.m.cfg.foreign = append(append(mu.m.cfg.foreign, p.Foreign...), znode.Foreign{})
	}
	return mu
}

// add takes the places of a lock over.
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
	parts := m.parts
	if parts == nil {
		p := place(m.full, m.kind)
		p.Foreign = m.cfg.foreign
		parts = []queue.Place{p}
	}
	switch {
	case mu.m.s == nil:
		mu.m.s, mu.m.cfg, mu.m.path = m.s, m.cfg, m.path
	case mu.m.s != m.s:
		panic("zksync: NewMulti with locks of several sessions")
	default:
		mu.m.path += "," + m.path
		if !slices.Equal(mu.m.cfg.acl, m.cfg.acl) && mu.m.err == nil {
			mu.m.err = errOptions
		}
	}
	if mu.m.err == nil {
		mu.m.err = m.err
	}
	for _, p := range parts {
		i := slices.IndexFunc(mu.m.parts, func(o queue.Place) bool { return o.Parent == p.Parent })
		if i >= 0 && !slices.Equal(mu.m.parts[i].Foreign, p.Foreign) && mu.m.err == nil {
			mu.m.err = errOptions
		}
		switch {
		case i < 0:
			mu.m.parts = append(mu.m.parts, p)
		case mu.m.parts[i].Kind == znode.Read:
			mu.m.parts[i] = p
		}
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

// consist says what the lock of a Multi consists of.
func (l *lock) consist(parts []queue.Place) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.parts == nil {
		l.parts = parts
		l.s.multis.Add(1)
	}
}

// entangled reports whether the owner of a call would wait for itself: it holds
// a Multi with the lock it asks for, or a lock of the Multi it asks for.
func (m *Mutex) entangled(ctx context.Context) bool {
	o := m.owner(ctx)
	if o.IsZero() {
		return false
	}
	parts := m.parts
	if parts == nil {
		parts = []queue.Place{{Parent: m.full}}
	}
	s := m.s
	s.mu.Lock()
	var others []*lock
	for full, l := range s.locks {
		if full == m.full {
			continue // entered again
		}
		mine := func(p queue.Place) bool {
			return p.Parent == full && m.parts != nil ||
				slices.ContainsFunc(l.parts, func(q queue.Place) bool { return q.Parent == p.Parent })
		}
		if slices.ContainsFunc(parts, mine) {
			others = append(others, l)
		}
	}
	s.mu.Unlock()
	return slices.ContainsFunc(others, func(l *lock) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.mineLocked(&waiter{owner: o}) != nil
	})
}
