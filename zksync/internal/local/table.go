package local

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// Observer gets the events that no call returns, and answers questions about the
// program. Its methods are called with no mutex held, unless they say otherwise.
type Observer interface {
	Says(Name) []byte                          // returns the data of nodes that serve such a call; nil: no data
	Lost(reason error) error                   // returns the error that reports a loss
	Pending(change int)                        // one node more to clean up, or one less
	Refused(node string, open bool, err error) // ZooKeeper refuses to delete a node or, if open, to show whether it exists
	LostUnseen(path, node string, err error)   // a lock without a handle was lost
	Limits(path string, limit, smallest int64) // permits with different limits are in line
	Later(f func())                            // runs f after the functions passed before; may be called with mutexes held
	Running(change int)                        // one function of the program more runs elsewhere, or one less; Close waits for them
}

// Config configures a table. It is a plain value.
type Config struct {
	Conn     *conn.Conn
	Observer Observer
	Writes   func([]zk.ACL) bool // whether the session may write to nodes with the access list
	Peers    bool                // calls listen for the node that they wait for
	Told     bool                // the program is told of the ends of holdings, and of deletions
	// Those of queue.Order, for all locks.
	Strange func(parent string, names []string)
	Stays   func(node string)
	// During returns ctx, which ends also with the session.
	During func(ctx context.Context) (context.Context, context.CancelFunc)
}

// Table has the locks of a session that are in use.
type Table struct {
	Config
	Cleaner

	census queue.Census
	closed atomic.Bool
	came   atomic.Int64 // the number of calls that have joined a line
	multis atomic.Int32 // locks of several parts in use: written with mu held
	stop   sync.Once
	over   chan struct{} // closed by Stop

	Held, Waiting, Acquired, Handoffs, Losses atomic.Int64

	mu       sync.Mutex
	locks    map[string]*Lock  // guarded by mu; by name
	parts    map[string][]part // guarded by mu; the parts of locks of several parts, by path
	quiet    chan struct{}     // guarded by mu; closed and replaced when a lock or a deletion goes
	deleting int               // guarded by mu; the number of locks given back whose node is being deleted
	// Guarded by mu; the deletions that wait until the program has been told of the end of
	// the holding. nil: none waits any more.
	telling map[*release]struct{}
}

// NewTable returns an empty table.
func NewTable() *Table {
	t := &Table{locks: make(map[string]*Lock), parts: make(map[string][]part), over: make(chan struct{}), quiet: make(chan struct{}),
		telling: make(map[*release]struct{})}
	t.Cleaner.init(t)
	return t
}

// Stop refuses later calls, except those of holders and those that have no error to
// return. It ends the waiting ones with err.
func (t *Table) Stop(err error) {
	t.shut()
	t.each(func(l *Lock) deferred { return l.refuse(false, err) })
}

// shut begins the deletions that wait for a function of the program, which may be waiting
// for them in Shutdown.
func (t *Table) shut() {
	t.stop.Do(func() { close(t.over) })
	t.mu.Lock()
	all := t.telling
	t.telling = nil
	for r := range all {
		r.told = make(chan struct{})
	}
	t.mu.Unlock()
	for r := range all {
		go r.begin(conn.Soon)
	}
}

// Stopped returns a channel that Stop closes.
func (t *Table) Stopped() <-chan struct{} { return t.over }

func (t *Table) stopped() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// Close refuses all later calls and ends the waiting ones with err. All holders lose
// their locks with err.
func (t *Table) Close(err error) {
	t.closed.Store(true)
	t.shut()
	t.each(func(l *Lock) deferred { return l.refuse(true, err) })
}

// Closed reports whether Close was called.
func (t *Table) Closed() bool { return t.closed.Load() }

// SessionOver ends the holders whose session is over.
func (t *Table) SessionOver() { t.each((*Lock).sessionOver) }

// Empty waits until no lock is in use and no deletion of one that was given back is
// under way, until ctx ends or the table is closed. It reports whether ctx ended.
func (t *Table) Empty(ctx context.Context) (ended bool) {
	for {
		t.mu.Lock()
		n, quiet := len(t.locks)+t.deleting, t.quiet
		t.mu.Unlock()
		if n == 0 || t.closed.Load() {
			return false
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return true
		}
	}
}

// Plain counts the holders without a handle that have not lost: nobody tells those of a
// loss.
func (t *Table) Plain() (n int) {
	t.each(func(l *Lock) deferred {
		l.mu.Lock()
		defer l.mu.Unlock()
		for h := l.line.held.first; h != nil; h = h.next {
			if h.lost == nil && h.levels > 0 && h.handles == 0 {
				n++
			}
		}
		return deferred{}
	})
	return n
}

// each calls f for each lock in use and does the deferred work: it ends the contexts of
// all locks before it does the rest.
func (t *Table) each(f func(*Lock) deferred) {
	t.mu.Lock()
	all := make([]*Lock, 0, len(t.locks))
	for _, l := range t.locks {
		all = append(all, l)
	}
	t.mu.Unlock()
	var d deferred
	for _, l := range all {
		of := f(l)
		for _, end := range of.ends {
			end()
		}
		d.rest = append(d.rest, of.rest...)
	}
	d.run()
}

// Enter returns the lock of a name and counts the caller as a user. path is the
// program's name of the lock.
func (t *Table) Enter(path, name string) *Lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[name]
	if l == nil {
		l = &Lock{t: t, path: path, name: name}
		l.line.hands = l
		t.locks[name] = l
	}
	l.refs++
	return l
}

// Find returns the lock and counts the caller as a user, or returns nil if the lock is
// not in use.
func (t *Table) Find(name string) *Lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.locks[name]
	if l != nil {
		l.refs++
	}
	return l
}

// Lookup returns the lock, or nil if it is not in use. The caller does not count as a user
// and may call only Take and Give.
func (t *Table) Lookup(name string) *Lock {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.locks[name]
}

// ref counts n more users. The caller must be counted itself: a lock without users has
// left the table, and another one may have taken its place.
func (l *Lock) ref(n int) {
	l.t.mu.Lock()
	l.refs += n
	l.t.mu.Unlock()
}

// Leave counts one user less. The last one removes the lock from the table, unless
// another lock has taken its place.
func (l *Lock) Leave() {
	t := l.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.refs--; l.refs == 0 && t.locks[l.name] == l {
		delete(t.locks, l.name)
		t.scatterLocked(l)
		t.wakeLocked()
	}
}

func (t *Table) wakeLocked() {
	close(t.quiet)
	t.quiet = make(chan struct{})
}

// tells records a deletion that waits until the program has been told. It returns false if
// the deletion must not wait.
func (t *Table) tells(r *release) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.telling == nil {
		r.told = make(chan struct{})
		return false
	}
	t.telling[r] = struct{}{}
	return true
}

// told reports whether a deletion that tells has recorded still has to be begun.
func (t *Table) told(r *release) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, waits := t.telling[r]
	delete(t.telling, r)
	return waits
}

// deletes changes the number of deletions that Empty waits for.
func (t *Table) deletes(d int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deleting += d; t.deleting == 0 {
		t.wakeLocked()
	}
}

// brief waits up to 20 ms for a deletion. So a call that ends usually leaves no node
// behind when it returns, and exceeds its deadline only a little.
func brief(done <-chan struct{}) {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}
