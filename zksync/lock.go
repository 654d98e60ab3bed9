package zksync

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// lock is what all values for one path on one session share: the local queue,
// the tenure, and the entry that stands in ZooKeeper's queue for the first in
// the local one. It exists while somebody uses it.
//
// A goroutine may take lock.mu and then the connection's locks, never the other
// way round. No request is made under lock.mu: a request takes as long as the
// servers are away, and everybody who uses the lock would wait with it.
type lock struct {
	s    *Session
	path string // as the program named it
	full string // in ZooKeeper
	refs int    // guarded by s.mu: calls, tenures, and goroutines of the lock

	// Of whoever was first to use the idle lock, who have been heeded since, if
	// bound. Written with both mu and s.mu held, and read with one of them.
	terms
	bound bool // guarded by s.mu

	mu    sync.Mutex
	queue list.List // guarded by mu; *waiter
	ten   *tenure   // guarded by mu; who holds alone, or held and lost without knowing
	reads []*tenure // guarded by mu; those that share the lock, the oldest first
	debts []*tenure // guarded by mu; shared and lost, with levels to be given back
	runs  []*run    // guarded by mu; stand in line for those at the front of queue
	last  *run      // guarded by mu; of permits, the newest
}

// run is an entry in line, or one being renewed for another tenure.
type run struct {
	e        *queue.Entry
	kind     znode.Kind
	lease    queue.Lease // if it has one
	w        *waiter     // guarded by lock.mu; whom it stands for
	cancel   context.CancelCauseFunc
	on       *tenure // that shares the entry, which is renewed for others to join it
	reused   bool    // a tenure has stood on it: not fit for a Hold
	pub      *published
	fixed    bool  // its nodes name the call for good
	peer     *Peer // whom it waits for, as far as known
	handoffs int
	counted  bool          // among those to be cleaned up
	placed   chan struct{} // closed once it stands in line; nil if it always has
	done     chan struct{} // closed when its goroutine ends
	rel      *release      // of a renewal: what whoever gave the lock back waits for
	owes     bool          // the deletion has rel's answer
}

// enter returns the session's lock for path, and counts the caller in.
func (s *Session) enter(path, full string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[full]
	if l == nil {
		l = &lock{s: s, path: path, full: full}
		s.locks[full] = l
	}
	l.refs++
	return l
}

// find returns the lock if it is in use, and counts the caller in.
func (s *Session) find(full string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[full]
	if l != nil {
		l.refs++
	}
	return l
}

// ref counts another user in, for whom the caller answers: it has to be counted
// itself, since a lock that nobody uses has left the table, and another may stand
// in its place.
func (l *lock) ref() {
	l.s.mu.Lock()
	l.refs++
	l.s.mu.Unlock()
}

// leave counts a user out. The last one takes the lock out of the table, unless
// another lock stands there by now.
func (l *lock) leave() {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs == 0 && s.locks[l.full] == l {
		delete(s.locks, l.full)
		s.scatterLocked(l)
		s.wakeLocked()
	}
}

func (s *Session) wakeLocked() {
	close(s.quiet)
	s.quiet = make(chan struct{})
}

func (l *lock) headLocked() *waiter {
	if e := l.queue.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

// advanceLocked makes what stands in ZooKeeper's queue fit the local one: an
// entry for the first waiter, if that has to stand there, and with a reader for
// the readers after it. A place in line outlives the call it was taken for.
func (l *lock) advanceLocked() {
	if head := l.headLocked(); head != nil && head.kind == znode.Permit {
		l.nothingsLocked()
		return // each stands in line by itself
	}
	front := l.frontLocked()
	if t := l.ten; len(front) > 0 && t != nil {
		switch {
		case t.lost != nil:
			// Lost, but not given back: it keeps its place here, and only here.
			// A node of ours would hold up the others for it.
			front = nil
		case t.passes(front[0]) && len(l.runs) == 0:
			front = nil
			t.armLocked()
		}
	}
	bare := l.pairLocked(front)
	for _, w := range bare {
		if !l.joinLocked(w) {
			l.stand(w)
		}
	}
	for _, r := range l.runs {
		l.tellLocked(r)
	}
}

// frontLocked returns those who may hold next: the first waiter, or the readers
// that come before anybody who wants the lock alone. Of those that share a node
// the first stands for all.
func (l *lock) frontLocked() []*waiter {
	head := l.headLocked()
	switch {
	case head == nil || l.s.closed.Load():
		return nil
	case head.kind != znode.Read:
		return []*waiter{head}
	}
	var front []*waiter
	shared := false
	for e := l.queue.Front(); e != nil; e = e.Next() {
		w := e.Value.(*waiter)
		if w.kind != znode.Read {
			break
		}
		if !w.shares() || !shared {
			front = append(front, w)
		}
		shared = shared || w.shares()
	}
	return front
}

// pairLocked gives each entry in line one of front to serve, takes out those
// that serve nobody, and returns those of front that have none.
func (l *lock) pairLocked(front []*waiter) (bare []*waiter) {
	if len(front) == 1 && len(l.runs) == 1 && l.runs[0].serves(front[0]) {
		l.runs[0].standForLocked(front[0])
		return nil
	}
	bare = slices.Clone(front)
	take := func(r *run, w *waiter) bool {
		i := slices.Index(bare, w)
		if i < 0 {
			return false
		}
		r.standForLocked(w)
		bare = slices.Delete(bare, i, i+1)
		return true
	}
	var spare []*run
	for _, r := range l.runs { // whom they were made for first
		if !take(r, r.w) {
			spare = append(spare, r)
		}
	}
	for _, r := range spare {
		i := slices.IndexFunc(bare, r.serves)
		if i >= 0 {
			take(r, bare[i])
			continue
		}
		r.cancel(errSuperseded)
		if r.on == nil {
			l.countLocked(r)
		}
		l.runs = slices.DeleteFunc(l.runs, func(o *run) bool { return o == r })
	}
	return bare
}

var errSuperseded = errors.New("nobody waits for this entry")

// countLocked counts the entry among those to be cleaned up, once it is clear
// that it will be.
func (l *lock) countLocked(r *run) {
	if !r.counted {
		r.counted = true
		l.s.stats.cleanup.Add(1)
	}
}

// serves reports whether the entry, once its turn comes, can be given to w.
func (r *run) serves(w *waiter) bool {
	switch {
	case r.kind != w.kind || r.on != nil && !w.shares():
		return false
	case r.w == w:
		return true
	}
	return !r.fixed && !w.hold && !w.acq.Try && (r.w == nil || !r.w.acq.Try) && (w.kind != znode.Read || w.shares())
}

// standForLocked has the entry stand for w from now on.
func (r *run) standForLocked(w *waiter) {
	if r.w != w && r.on == nil {
		r.pub.passLocked(w)
	}
	r.w = w
}

// runLocked returns the entry that stands for w, or the first one.
func (l *lock) runLocked(w *waiter) *run {
	for _, r := range l.runs {
		if r.w == w {
			return r
		}
	}
	if len(l.runs) > 0 {
		return l.runs[0]
	}
	return nil
}

// refuse ends the waits that can be told, at Shutdown; at Close all of them,
// and the tenures too. It returns what is left to do for these.
func (l *lock) refuse(all bool) (rest []after) {
	l.mu.Lock()
	var next *list.Element
	for e := l.queue.Front(); e != nil; e = next {
		next = e.Next()
		if w := e.Value.(*waiter); all || !w.noErr {
			l.failLocked(w, ErrClosed)
		}
	}
	var lost []loss
	if all {
		for _, t := range l.tenuresLocked() {
			lost = append(lost, t.loseLocked(ErrClosed))
		}
	}
	l.advanceLocked()
	l.mu.Unlock()
	return ended(lost)
}

// ended ends the contexts of tenures that are lost, and returns what is left to do.
func ended(lost []loss) (rest []after) {
	for _, x := range lost {
		x.ended.run()
		rest = append(rest, x.rest)
	}
	return rest
}

// idleLocked reports whether nobody wants the lock or has it, whatever is left
// to be cleaned up.
func (l *lock) idleLocked() bool {
	return l.queue.Len() == 0 && l.ten == nil && len(l.reads)+len(l.debts)+len(l.runs) == 0
}

// tenuresLocked returns all that hold.
func (l *lock) tenuresLocked() []*tenure {
	all := slices.Clone(l.reads)
	if l.ten != nil {
		all = append(all, l.ten)
	}
	return all
}

// sessionOver ends the tenures whose session is over, and returns what is left to
// do for them.
func (l *lock) sessionOver() (rest []after) {
	l.mu.Lock()
	var lost []loss
	st, _ := l.s.conn.State()
	for _, t := range l.tenuresLocked() {
		if t.e.Session() != st.Session {
			lost = append(lost, t.loseLocked(conn.ErrSessionOver))
		}
	}
	l.mu.Unlock()
	return ended(lost)
}
